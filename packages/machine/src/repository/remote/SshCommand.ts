import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { newBootId } from "@reins/base/base/Boot"
import { makeBootDirectory } from "@reins/base/base/BootDirectory"
import { bootIn } from "@reins/base/base/Mark"
import { Effect, FiberRef, Redacted, type Scope } from "effect"
import { type GitError, onDisk } from "../run/GitError.js"
import { processMarks } from "../run/GitVariables.js"

/** A private key for SSH, and the lines of a `known_hosts` file that name the key of its host. */
export interface SshKey {
  readonly privateKey: Redacted.Redacted
  readonly knownHosts: string
}

const endingLine = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`)

/**
 * A folder with the key and the known hosts, which only the user of the service may read. It goes with the scope, or with the start after a kill.
 */
const keyFolder = Effect.fnUntraced(function* ({ knownHosts, privateKey }: SshKey) {
  const bootId = bootIn(yield* FiberRef.get(processMarks)) ?? newBootId()
  const failure = "The key for SSH could not be written"
  const folder = yield* Effect.acquireRelease(
    onDisk(failure, () => makeBootDirectory("ssh", bootId)),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
  )
  yield* onDisk(failure, async () => {
    await writeFile(join(folder, "key"), endingLine(Redacted.value(privateKey)), { mode: 0o600 })
    await writeFile(join(folder, "known_hosts"), endingLine(knownHosts), { mode: 0o600 })
  })
  return folder
})

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/**
 * The command by which git runs ssh: to the address that was checked, with the key and the known hosts of the connection. It reads no
 * configuration, no agent and no identity of the user of the service.
 */
export const sshCommand = (
  key: SshKey,
  { host, port }: { readonly host: string; readonly port: number },
  address: string
): Effect.Effect<string, GitError, Scope.Scope> =>
  Effect.map(keyFolder(key), (folder) => {
    const bare = host.replace(/^\[(.*)\]$/, "$1")
    const options = {
      BatchMode: "yes",
      ConnectTimeout: "20",
      HostName: address,
      // The name by which known hosts are written, although an address is connected.
      HostKeyAlias: port === 22 ? bare : `[${bare}]:${port}`,
      CheckHostIP: "no",
      IdentitiesOnly: "yes",
      IdentityAgent: "none",
      IdentityFile: join(folder, "key"),
      CertificateFile: "none",
      PreferredAuthentications: "publickey",
      GlobalKnownHostsFile: "/dev/null",
      UserKnownHostsFile: join(folder, "known_hosts"),
      StrictHostKeyChecking: "yes",
      UpdateHostKeys: "no",
      ProxyCommand: "none",
      ProxyJump: "none",
      ControlPath: "none",
      ForwardAgent: "no",
      ClearAllForwardings: "yes",
      PermitLocalCommand: "no"
    }
    return [
      "ssh -F /dev/null",
      ...Object.entries(options).map(([name, value]) => `-o${quoted(`${name}=${value}`)}`)
    ].join(" ")
  })
