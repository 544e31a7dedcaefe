import { spawn } from "node:child_process"
import { once } from "node:events"
import { dirname } from "node:path"
import { afterAll, assert, beforeAll, it } from "vitest"
import { type EnginePlace, podmanPlace } from "../../../../scripts/podman.mjs"
import { deployed, imageSays, root } from "./Deploy.js"
import { kustomized } from "./Manifests.js"
import { workloadsOf } from "./Pods.js"

// No cluster runs here. A container of rootless Podman has what a pod with users of its own has, when it gets the same rights.

let engine: EnginePlace
beforeAll(() => {
  engine = podmanPlace()
})
afterAll(() => engine.remove())

/** The options of Podman for what the manifests say of the container of a runner. */
const optionsOf = (folder: "nodes" | "sandbox"): ReadonlyArray<string> => {
  const runner = workloadsOf(kustomized(deployed(`kubernetes/${folder}`))).find(({ kind }) => kind === "StatefulSet")
  assert(runner)
  const { containers, securityContext: pod } = runner.spec.template.spec
  const context = { ...pod, ...containers[0]?.securityContext }
  const { procMount, seccompProfile } = context as { procMount?: string; seccompProfile: { readonly type: string } }
  assert.deepInclude(context, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsUser: 10001 })
  return [
    ...["--cap-drop=all", "--security-opt=no-new-privileges", "--read-only", "--user=10001:10001"],
    ...(procMount === "Unmasked" ? ["--security-opt=unmask=ALL"] : []),
    ...(seccompProfile.type === "Unconfined" ? ["--security-opt=seccomp=unconfined"] : [])
  ]
}

/** All that a server in a container says until it is ready, or ends by itself. Its programs are those of this machine. */
const serverIn = async (options: ReadonlyArray<string>) => {
  const node = dirname(process.execPath)
  const [program = "", ...args] = [
    ...[...engine.launcher, "podman", "run", "--rm", "--network=none", "--cgroups=disabled", ...options],
    ...["--tmpfs=/var/lib/reins:mode=0777", "--tmpfs=/tmp:mode=1777", "--volume=/usr:/usr:ro"],
    ...[`--volume=${root}:/opt/reins:ro`, `--volume=${node}:/opt/node:ro`],
    ...["--env=REINS_EXECUTOR=bubblewrap", "--env=HOME=/var/lib/reins", "--env=REINS_DATA_DIR=/var/lib/reins/data"],
    ...[engine.image, "/opt/node/node", "/opt/reins/packages/server/dist/main.js", "serve"]
  ]
  const env = { PATH: process.env["PATH"], ...engine.env }
  const child = spawn(program, args, { cwd: "/tmp", env, stdio: ["ignore", "pipe", "pipe"] })
  let said = ""
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said += String(chunk)
      if (said.includes('"event":"ready"')) child.kill("SIGTERM")
    })
  await once(child, "close")
  return said
}

it("a server with the rights of the sandbox's pods has a sandbox for its agents; with those of the plain ones it says that it has none", {
  timeout: 300_000
}, async () => {
  assert.match(
    await serverIn(optionsOf("nodes")),
    /bubblewrap does not work here: this machine allows no user namespaces/
  )
  assert.match(await serverIn(optionsOf("sandbox")), /^\{"event":"ready",.*"executor":"bubblewrap"\}$/m)
  assert.strictEqual(imageSays.environment["REINS_EXECUTOR"], "local", "without the sandbox the pod is the boundary")
})
