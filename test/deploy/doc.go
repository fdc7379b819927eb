// Package deploy tests what is shipped for running the load elsewhere: images, compose, operator manifests, cloud scripts.
package deploy
