import { readFileSync } from "node:fs"
import type { AgentLimits } from "@reins/base/base/AgentLimits"
import { cutText } from "@reins/base/base/CutText"
import { hasProc, thisSystem } from "@reins/base/base/ProcFs"
import { Effect } from "effect"
import { isolationProofs } from "../sandbox/Proofs.js"
import { type Container, containerArguments } from "./Arguments.js"
import * as Engine from "./Engine.js"
import { profileHere } from "./SeccompProfile.js"

/** The way in which containers are run. */
export interface ContainerOptions {
  /** The image that agents run in, by its digest; null when none was chosen. */
  readonly image: string | null
  /** The engine; null is the first of Podman and Docker that is installed. */
  readonly engine: Engine.EngineName | null
  /** The directory for small files of ours that containers are given. */
  readonly cacheDir: string
  readonly limits?: AgentLimits
}

/** An image by a digest, which always means the same files. */
const byDigest = /^(?:[^\s@-][^\s@]*@)?sha256:[0-9a-f]{64}$/

/** The kernel that runs now, which another machine has not. */
const kernelFile = "/proc/sys/kernel/random/boot_id"

/** A program that shows the isolation from inside, the kernel, and the Node that agents run. */
const look = `cat /proc/self/status /proc/net/dev; cat ${kernelFile}; "$0" --version`

/** Starts a program in a container like that of agents, and looks at what it sees. */
export const probeContainer = Effect.fnUntraced(function* (engine: Engine.ContainerEngine, container: Container) {
  const words = [...containerArguments(engine, container), "-i", "/bin/sh", "-c", look, process.execPath]
  const said = yield* Engine.runEngine(engine.name, words)
  if (said.failed && said.stdout.trim() === "") return yield* Engine.unavailable(engine.name, said.stderr)
  const missing = isolationProofs(said.stdout)
  if (missing.length > 0)
    return yield* Engine.unavailable(engine.name, `its container starts, but it lacks ${missing.join(", ")}`)
  if (!said.stdout.includes(readFileSync(kernelFile, "utf8").trim()))
    return yield* Engine.unavailable(
      engine.name,
      "it runs containers on another machine, where agents cannot be watched"
    )
  if (!said.stdout.includes(process.version))
    return yield* new Engine.ContainerUnavailable({
      message:
        `The image cannot run the Node of the service: ${cutText(said.stderr.trim().split("\n")[0] ?? "", 200)}. ` +
        "Take one with glibc and libstdc++, as node:24-bookworm."
    })
})

const noRoot =
  "The executor container is for a service with a user of its own: as root, an agent would be root in its container. Run the service as " +
  "another user."

/** Everything that has to hold before an engine is asked, or the reason that it does not. */
export const wanted = Effect.fnUntraced(function* (options: ContainerOptions) {
  const refuse = (message: string) => new Engine.ContainerUnavailable({ message })
  const seccomp = hasProc() ? profileHere() : undefined
  if (seccomp === undefined)
    return yield* refuse(`Containers work on Linux on x86_64 and arm64, and this is ${thisSystem()}.`)
  if (options.image === null)
    return yield* refuse(
      "The executor container needs an image: --container-image (REINS_CONTAINER_IMAGE) names one by its digest, as in " +
        "docker.io/library/node@sha256:..."
    )
  if (!byDigest.test(options.image))
    return yield* refuse(
      "The image is not named by a digest, so its files could change: name it as repository@sha256:<64 digits> or as sha256:<64 digits>."
    )
  if (process.getuid?.() === 0) return yield* refuse(noRoot)
  return { image: options.image, seccomp }
})
