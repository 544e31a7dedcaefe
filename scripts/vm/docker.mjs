// Starts Docker in a virtual machine, with an image that is made of programs of this machine, and says the image and nothing else.
import { execFileSync, spawn } from "node:child_process"
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { makeRoot } from "../podman.mjs"

const [group] = process.argv.slice(2)
const place = mkdtempSync("/tmp/docker-")
const log = openSync(join(place, "log"), "a")
// No container is given a network, so the daemon needs none either.
const words = [
  "--data-root",
  join(place, "data"),
  "--group",
  group,
  "--bridge=none",
  "--iptables=false",
  "--ip6tables=false"
]
const daemon = spawn("dockerd", words, { stdio: ["ignore", log, log], detached: true })
closeSync(log)
daemon.unref()
const answers = () => {
  try {
    return (
      execFileSync("docker", ["info", "--format", "{{.ServerVersion}}"], { encoding: "utf8", stdio: "pipe" }).trim() !==
      ""
    )
  } catch {
    return false
  }
}
while (!answers()) {
  if (daemon.exitCode !== null) throw new Error(readFileSync(join(place, "log"), "utf8"))
  await setTimeout(500)
}
const root = join(place, "root")
mkdirSync(root)
makeRoot(root)
const said = execFileSync("sh", ["-c", `tar -C ${root} -cf - . | docker import --change "ENV IMAGE_SAYS=hello" -`])
process.stdout.write(String(said).trim())
