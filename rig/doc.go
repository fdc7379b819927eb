// Package rig makes, boots, seeds, wears out, compacts and stops a scratch omnigraph cluster, so that a
// measurement starts from a known store and leaves nothing behind.
//
// A rig is a directory: the cluster's configuration (schema, stored queries, policies), the bearer tokens of
// its actors, its dataset, and the graphs and logs that omnigraph adds. Make writes it, Open finds it again,
// Up boots a server on it, Down stops that, and Run does all of it around one command.
package rig
