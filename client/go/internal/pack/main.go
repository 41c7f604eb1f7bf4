// Pack builds the release of the module: pack DIR writes the files that a Go module proxy serves, so that GOPROXY=file://DIR
// finds it. It must run in the module's directory.
package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/threadkeep/threadkeep-go"
)

const (
	module  = "github.com/threadkeep/threadkeep-go"
	version = "v" + threadkeep.Version
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pack DIR")
	}
	if err := pack(filepath.Join(os.Args[1], filepath.FromSlash(module), "@v")); err != nil {
		log.Fatal(err)
	}
}

func pack(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	requirements, err := os.ReadFile("go.mod")
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
	files, err := addFiles(archive)
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	fmt.Printf("%s: %d files of %s@%s\n", file.Name(), files, module, version)
	return file.Close()
}

// addFiles adds the module's files to the archive, except hidden files, which are build output.
func addFiles(archive *zip.Writer) (files int, err error) {
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(entry.Name(), ".") && path != "."; entry.IsDir() || hidden {
			if hidden && entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		source, err := os.Open(path)
		if err != nil {
			return err
		}
		defer source.Close()
		target, err := archive.Create(module + "@" + version + "/" + filepath.ToSlash(path))
		if err != nil {
			return err
		}
		files++
		_, err = io.Copy(target, source)
		return err
	})
	return files, err
}
