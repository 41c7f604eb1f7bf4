// Pack builds the release of the module and of the adapters of frameworks, which are modules in integrations: pack DIR writes the
// files that a Go module proxy serves, so that GOPROXY=file://DIR finds them. It must run in the client's directory.
package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/threadkeep/threadkeep-go"
)

const (
	client  = "github.com/threadkeep/threadkeep-go"
	version = "v" + threadkeep.Version
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pack DIR")
	}
	manifests, err := filepath.Glob("integrations/*/go.mod")
	if err != nil {
		log.Fatal(err)
	}
	for _, manifest := range append([]string{"go.mod"}, manifests...) {
		if err := pack(os.Args[1], filepath.ToSlash(filepath.Dir(manifest))); err != nil {
			log.Fatal(err)
		}
	}
}

// pack packs the module in a folder.
func pack(target, folder string) error {
	module := path.Join(client, folder)
	dir := filepath.Join(target, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	requirements, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": requirements} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	archive := zip.NewWriter(file)
	files, err := addFiles(archive, folder, module)
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	fmt.Printf("%s: %d files of %s@%s\n", file.Name(), files, module, version)
	return file.Close()
}

// addFiles adds the files of the module in a folder to the archive, except hidden files, which are build output, and other modules.
func addFiles(archive *zip.Writer, folder, module string) (files int, err error) {
	root := os.DirFS(folder)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if entry.IsDir() {
			if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(entry.Name(), ".") {
			return nil
		}
		source, err := root.Open(name)
		if err != nil {
			return err
		}
		defer source.Close()
		target, err := archive.Create(module + "@" + version + "/" + name)
		if err != nil {
			return err
		}
		files++
		_, err = io.Copy(target, source)
		return err
	})
	return files, err
}
