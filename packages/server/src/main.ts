#!/usr/bin/env node
import { writeSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { hostRefusal } from "@reins/base/base/HostRefusal"
import { loaderOf } from "./Chunks.js"
import { startFlag } from "./CompiledCode.js"

/** The build puts the name of the first chunk here. It holds a hash, so that compiled code of another build is never taken for its own. */
declare const PROGRAM_FILE: string
/** The build puts the version of the server here. */
declare const RELEASE: string

const refusal = hostRefusal(process.platform, process.versions.node)
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`)
  process.exit(1)
}

/** Answers `reins --version` without a program. False for other words, and where the answer cannot be written, which the program explains. */
const tellsVersion = (words: ReadonlyArray<string>): boolean => {
  if (words.length !== 1 || (words[0] !== "--version" && words[0] !== "-v")) return false
  try {
    return writeSync(process.stdout.fd, `${RELEASE}\n`) > 0
  } catch {
    return false
  }
}

// V8 takes compiled code only with the flags that it was compiled with, so all commands have this one. The server takes it back once it is ready.
setFlagsFromString(startFlag)

if (!tellsVersion(process.argv.slice(2))) loaderOf(fileURLToPath(new URL(".", import.meta.url)))(PROGRAM_FILE)
