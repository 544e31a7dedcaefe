import { createHash } from "node:crypto"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ContainerFiles, userOf } from "./Arguments.js"
import type * as Engine from "./Engine.js"

/** Writes a file unless it is there already. Its name tells its text, so that servers of different releases share a directory. */
const kept = (directory: string, name: string, text: string): string => {
  const path = join(directory, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}-${name}`)
  const making = `${path}.${process.pid}`
  writeFileSync(making, text, { mode: 0o644 })
  renameSync(making, path)
  return path
}

export const ownFiles = (engine: Engine.ContainerEngine, cacheDir: string, seccomp: string): ContainerFiles => {
  const directory = join(cacheDir, "container")
  mkdirSync(directory, { recursive: true })
  const [uid, gid] = userOf(engine)
  const agent = uid === 0 ? "" : `agent:x:${uid}:${gid}:agent:/:/bin/sh\n`
  return {
    seccomp: kept(directory, "seccomp.json", seccomp),
    passwd: kept(directory, "passwd", `root:x:0:0:root:/:/bin/sh\n${agent}`),
    group: kept(directory, "group", `root:x:0:\n${gid === 0 ? "" : `agent:x:${gid}:\n`}`),
    hosts: kept(directory, "hosts", "127.0.0.1 localhost\n::1 localhost\n")
  }
}
