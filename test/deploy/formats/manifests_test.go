package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// manifests are the documents of all files for Kubernetes, as JSON.
func manifests(t *testing.T) map[string][][]byte {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/operator/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests (%v)", err)
	}
	all := map[string][][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for r := yamlutil.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data))); ; {
			buffer := make([]byte, len(data)+1)
			n, err := r.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			doc, err := yaml.YAMLToJSONStrict(buffer[:n])
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			all[filepath.Base(f)] = append(all[filepath.Base(f)], doc)
		}
	}
	return all
}

// strictly reads a document and fails on fields that its type does not have.
func strictly(t *testing.T, file string, doc []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// pod is the part of a TestRun from which the operator makes a pod: our own reading of its documentation, with
// Kubernetes' types where it takes over Kubernetes' fields.
type pod struct {
	Image              string                      `json:"image"`
	ImagePullPolicy    corev1.PullPolicy           `json:"imagePullPolicy"`
	ServiceAccountName string                      `json:"serviceAccountName"`
	SecurityContext    corev1.PodSecurityContext   `json:"securityContext"`
	Env                []corev1.EnvVar             `json:"env"`
	Resources          corev1.ResourceRequirements `json:"resources"`
	Volumes            []corev1.Volume             `json:"volumes"`
	VolumeMounts       []corev1.VolumeMount        `json:"volumeMounts"`
}

type testRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Parallelism int32          `json:"parallelism"`
		Script      map[string]any `json:"script"`
		Arguments   string         `json:"arguments"`
		Quiet       string         `json:"quiet"`
		Cleanup     string         `json:"cleanup"`
		Runner      pod            `json:"runner"`
		Initializer pod            `json:"initializer"`
	} `json:"spec"`
}

func TestKubernetesReadsTheManifests(t *testing.T) {
	var claims []string
	var used []corev1.Volume
	for file, docs := range manifests(t) {
		for _, doc := range docs {
			var kind metav1.TypeMeta
			if err := json.Unmarshal(doc, &kind); err != nil {
				t.Fatal(err)
			}
			switch kind.APIVersion + " " + kind.Kind {
			case "v1 Secret":
				var s corev1.Secret
				strictly(t, file, doc, &s)
				for name, value := range s.StringData {
					if value != "replace-me" {
						t.Errorf("%s: a secret is checked in as %s", file, name)
					}
				}
			case "v1 PersistentVolumeClaim":
				var c corev1.PersistentVolumeClaim
				strictly(t, file, doc, &c)
				claims = append(claims, c.Name)
				if len(c.Spec.AccessModes) != 1 || c.Spec.AccessModes[0] != corev1.ReadWriteMany {
					t.Errorf("%s: pods on several nodes write to it, and it has %v", file, c.Spec.AccessModes)
				}
			case "batch/v1 Job":
				var j batchv1.Job
				strictly(t, file, doc, &j)
				used = append(used, j.Spec.Template.Spec.Volumes...)
			case "k6.io/v1alpha1 TestRun":
				var r testRun
				strictly(t, file, doc, &r)
				used = append(used, r.Spec.Runner.Volumes...)
				mounted(t, file, r.Spec.Runner)
			default:
				t.Errorf("%s: %s %s is not known here", file, kind.APIVersion, kind.Kind)
			}
		}
	}
	if len(used) < 3 {
		t.Errorf("only %d volumes are used", len(used))
	}
	for _, v := range used {
		if v.PersistentVolumeClaim == nil || len(claims) != 1 || v.PersistentVolumeClaim.ClaimName != claims[0] {
			t.Errorf("the volume %s is none of the claims %v", v.Name, claims)
		}
	}
}

// mounted checks what a pod mounts, and that variables are defined before others refer to them.
func mounted(t *testing.T, file string, p pod) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range p.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range p.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s mounts %s, which is no volume", file, m.Name)
		}
	}
	if len(p.Env) == 0 || p.Env[0].Name != "POD_NAME" || p.Env[0].ValueFrom == nil || p.Env[0].ValueFrom.FieldRef == nil {
		t.Errorf("%s: $(POD_NAME) stands in later values, so it comes first", file)
	}
	for _, e := range p.Env {
		if e.Name == "OMNIGRAPH_TOKEN" && (e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil) {
			t.Errorf("%s: the token comes from a secret", file)
		}
	}
	if p.SecurityContext.RunAsNonRoot == nil || !*p.SecurityContext.RunAsNonRoot || p.SecurityContext.FSGroup == nil {
		t.Errorf("%s: the pod may run as root, or can't write to its volume", file)
	}
}
