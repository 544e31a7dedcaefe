import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { homeDirectory } from "@reins/base/base/HomeDirectory"
import { makeDirectory } from "@reins/base/base/MakeDirectory"
import { Effect, Option, Schema } from "effect"
import { CommandFailed } from "../CommandFailed.js"

const Profile = Schema.Struct({ url: Schema.String, api_key: Schema.String })

/** The server that the commands of this user talk to, and the key that it knows them by. */
export type Profile = typeof Profile.Type

/** The file of the profile, below `XDG_CONFIG_HOME` or `~/.config`. Throws `CommandFailed` for a user without a home. */
export const profileFile = (): string => {
  const home = homeDirectory()
  const configs = process.env["XDG_CONFIG_HOME"] || (home === undefined ? undefined : join(home, ".config"))
  if (configs === undefined)
    throw new CommandFailed({
      message: "This user has no home directory for the profile. Set XDG_CONFIG_HOME to a directory of yours."
    })
  return join(configs, "reins", "profile.json")
}

const decode = Schema.decodeUnknownOption(Schema.parseJson(Profile))

/** The profile that `reins init` has stored; undefined when there is none that can be read. */
export const storedProfile = (): Profile | undefined => {
  try {
    return Option.getOrUndefined(decode(readFileSync(profileFile(), "utf8")))
  } catch {
    // Without a profile, or one that this user may not read, the environment names the server.
    return undefined
  }
}

/** Stores the profile in the place of the last one, for this user alone. Gives the file. */
export const storeProfile = (profile: Profile): Effect.Effect<string, CommandFailed> =>
  Effect.try({
    try: () => {
      const file = profileFile()
      makeDirectory(dirname(file), 0o700)
      const partial = `${file}.${process.pid}.tmp`
      try {
        writeFileSync(partial, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600, flag: "wx" })
        renameSync(partial, file)
      } finally {
        rmSync(partial, { force: true })
      }
      return file
    },
    catch: (cause) =>
      cause instanceof CommandFailed
        ? cause
        : new CommandFailed({
            message: `The profile cannot be stored in ${profileFile()} (${cause instanceof Error ? cause.message : cause}). Set XDG_CONFIG_HOME to a directory of yours.`
          })
  })

/** The server and the key that the environment and the profile name. */
export interface Target {
  readonly url: string | undefined
  readonly apiKey: string | undefined
  /** True when a flag or the environment named the URL, so that no other server is meant. */
  readonly isExplicit: boolean
}

/** `REINS_URL` and `REINS_API_KEY` win over the profile. The key of a profile goes to the server of that profile alone. */
export const target = (url: string | undefined = process.env["REINS_URL"]): Target => {
  const profile = storedProfile()
  const named = url === undefined || url === "" ? undefined : url.replace(/(?<!\/)\/+$/, "")
  const stored = named === undefined || named === profile?.url ? profile?.api_key : undefined
  return {
    url: named ?? profile?.url,
    apiKey: process.env["REINS_API_KEY"] || stored,
    isExplicit: named !== undefined
  }
}
