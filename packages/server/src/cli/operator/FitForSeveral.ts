import { CommandFailed } from "@reins/cli/CommandFailed"
import { agree, agreedOn } from "@reins/core/store/Agreements"
import type { Database } from "@reins/core/store/Database"
import { Effect } from "effect"
import type { Config } from "../../Config.js"

/** Fails for a node that would write mails to files, which land on whichever machine sends them. */
export const requireMail = ({ smtpUrl }: Pick<Config, "smtpUrl">): Effect.Effect<void, CommandFailed> =>
  smtpUrl === undefined
    ? new CommandFailed({
        message:
          "Without a mail server each node would write its mails to files on its own disk, where nobody looks for them: several machines need " +
          "--smtp-url (REINS_SMTP_URL)."
      })
    : Effect.void

/**
 * Fails for a node that runs agents by the executor `local` in another data directory than the others do: such an agent remembers the paths of
 * its machine, so its session could not go on on another one. `isFirst` says that no other node is alive, and its directory is then the one.
 */
export const requireSamePaths = (
  db: Database["Type"],
  { dataDir, isFirst }: { readonly dataDir: string; readonly isFirst: boolean }
): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    const stands = yield* agreedOn(db, "local_data_dir", dataDir)
    if (stands === dataDir) return
    if (isFirst) return yield* agree(db, "local_data_dir", dataDir)
    return yield* new CommandFailed({
      message:
        `The executor "local" needs the same data directory on every node, and the others have ${stands}, not ${dataDir}: start this one with ` +
        `--data-dir ${stands}, or all of them with a sandbox (--executor bubblewrap or container), where paths are the same everywhere.`
    })
  })
