import { statSync } from "node:fs"
import { join, resolve } from "node:path"
import { argument, command, flag, option } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { some } from "@reins/cli/terminal/Listing"
import { printJson, tell } from "@reins/cli/terminal/Output"
import { steps } from "@reins/cli/terminal/Progress"
import * as Backup from "@reins/core/backup/Backup"
import type { Lack } from "@reins/core/backup/BackupManifest"
import * as Restore from "@reins/core/backup/Restore"
import { sealedValues } from "@reins/core/Rooms"
import { Effect } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import * as Installation from "./Installation.js"
import { configOf, installationOptions } from "./Settings.js"

/** `reins backup` */
export const backup = command({
  takes: {
    target: argument("target", "A file that does not exist yet, or a directory"),
    withKeyring: flag("with-keyring", "Include the key ring: whoever has the backup can open the credentials"),
    filesOnly: flag("files-only", "The files alone, for an installation on PostgreSQL"),
    ...installationOptions
  },
  examples: [
    ["reins backup /var/backups", "Write a backup named by the time"],
    ["reins backup reins.tar --with-keyring", "Include the keys that open stored credentials"]
  ],
  run: ({ filesOnly, target, withKeyring, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const onPostgres = config.databaseUrl !== undefined
      if (onPostgres && !filesOnly) return yield* new CommandFailed({ message: dumpFirst(config.dataDir, target) })
      if (!onPostgres && filesOnly)
        return yield* new CommandFailed({
          message:
            "--files-only is for an installation on PostgreSQL. With SQLite the backup holds the database, so leave it out."
        })
      const core = Installation.coreConfigOf(config)
      const { keyFile } = core
      const shown = steps()
      const made = yield* Effect.provide(
        Backup.backup({
          dataDir: config.dataDir,
          config: core,
          sealed: sealedValues,
          keyFile: withKeyring ? keyFile : undefined,
          database: onPostgres ? "postgresql" : "sqlite",
          target: fileFor(target),
          release: packageJson.version,
          progress: (line, share) => Effect.sync(() => shown.say(line, share))
        }),
        Installation.databaseAsIs(config)
      ).pipe(Effect.ensuring(Effect.sync(shown.clear)))
      const { manifest } = made
      tell(withKeyring ? keysAreIn(made.file) : keysAreOut(keyFile, manifest.key_ids.length))
      if (made.skipped.length > 0)
        tell(`These entries could not be read and are not in the backup:\n  ${made.skipped.join("\n  ")}`)
      if (manifest.lacks.length > 0) tell(`The backup lacks:\n${manifest.lacks.slice(0, 100).map(lackLine).join("")}`)
      yield* printJson({
        event: "backup",
        file: made.file,
        bytes: made.bytes,
        digest: made.digest,
        created_at: manifest.created_at,
        database: manifest.database,
        sessions:
          Object.keys(manifest.parts).filter((part) => part.startsWith("sessions/")).length - manifest.missing.length,
        key_ring: manifest.key_ring,
        incomplete: manifest.incomplete,
        missing: manifest.missing,
        from_snapshots: Object.keys(manifest.from_snapshots).length,
        lacks: manifest.lacks,
        unsettled: manifest.unsettled,
        skipped: made.skipped.length
      })
      if (manifest.lacks.length > 0) return yield* new CommandFailed({ message: notWhole(manifest.lacks) })
    })
})

/** `reins restore` */
export const restore = command({
  takes: {
    file: argument("file", "The backup"),
    keyring: option("keyring", "The keyring.json that was kept apart from the backup", { value: "file" }),
    withoutKeys: flag("without-keys", "Give up the credentials whose keys are lost; all else is restored"),
    ...installationOptions
  },
  examples: [
    ["reins restore reins.tar --keyring keyring.json --data-dir restored", "Restore into a new directory"],
    ["reins restore reins.tar --without-keys --data-dir restored", "Restore without the stored credentials"]
  ],
  run: ({ file, keyring, withoutKeys, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const shown = steps()
      const restored = yield* Restore.restore({
        file: resolve(file),
        sealed: sealedValues,
        dataDir: config.dataDir,
        keyFile: Installation.coreConfigOf(config).keyFile,
        keyRing: keyring === undefined ? undefined : resolve(keyring),
        withoutKeys,
        database: config.databaseUrl === undefined ? undefined : Installation.databaseAsIs(config),
        progress: shown.say
      }).pipe(Effect.ensuring(Effect.sync(shown.clear)))
      const { manifest } = restored
      tell(
        `Restored as of ${manifest.created_at}. Start it: reins serve --data-dir ${config.dataDir}\n` +
          "Turns that ran at that time end then as after a crash. Stop the installation that was backed up first, because two with the " +
          "same data would both deliver and mail."
      )
      if (restored.missingKeys.length > 0)
        tell(
          `The credentials sealed with ${restored.missingKeys.join(", ")} are given up. Give each of their connections its credential again.`
        )
      yield* printJson({
        event: "restored",
        data_dir: config.dataDir,
        created_at: manifest.created_at,
        release: manifest.release,
        sessions: restored.sessions,
        missing_keys: restored.missingKeys
      })
    })
})

const fileFor = (target: string): string => {
  const path = resolve(target)
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return isDirectory ? join(path, `reins-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "")}.tar`) : path
}

/** The things that a backup lacks of a session, as a line for people. */
const lackLine = ({
  left_out,
  missing,
  more_left_out,
  node,
  running,
  session_id,
  unsealed_since,
  why
}: Lack): string => {
  const of = [
    missing ? "all of its files" : undefined,
    running ? "the files of the turn that runs" : undefined,
    unsealed_since === null ? undefined : `what has changed since ${unsealed_since}`,
    left_out.length === 0
      ? undefined
      : `what its snapshot leaves out: ${left_out.join(", ")}${more_left_out > 0 ? ` and ${more_left_out} more` : ""}`
  ].filter((each) => each !== undefined)
  return `  ${session_id}${node === null ? "" : ` on ${node}`}: ${of.join("; ")}${why === null ? "" : `. ${why}`}\n`
}

/** The backup is there, and whoever made it must not take it for a whole one. */
const notWhole = (lacks: ReadonlyArray<Lack>): string => {
  const listed = (which: ReadonlyArray<Lack>) => some(which.map(({ session_id }) => session_id))
  const gone = lacks.filter(({ missing }) => missing)
  const part = lacks.filter(({ missing }) => !missing)
  const nodes = [...new Set(lacks.flatMap(({ node }) => (node === null ? [] : [node])))]
  const what = [
    gone.length === 0 ? undefined : `it has no files of ${counted(gone.length)} (${listed(gone)})`,
    part.length === 0 ? undefined : `it does not have all of ${counted(part.length)} (${listed(part)})`
  ]
  return (
    `The backup is NOT whole: ${what.filter((each) => each !== undefined).join(", and ")}. ` +
    (nodes.length > 0
      ? `Back up again when they are sealed. A backup on the nodes themselves (${nodes.join(", ")}) has their files as they are on the disk.`
      : "If other machines work on the same database, back up each of them; otherwise the files were removed.")
  )
}

const counted = (count: number): string => (count === 1 ? "1 session" : `${count} sessions`)

/** Holds commands to copy into a shell. They stop when the variable is not set, because pg_dump would take another database then. */
const dumpFirst = (dataDir: string, target: string): string =>
  "PostgreSQL's own tools back up the database of this installation. Dump it first and back up the files after it, so that they hold " +
  "everything that the dump names. Set REINS_DATABASE_URL and run:\n" +
  `  pg_dump --format=custom --file=reins.dump "\${REINS_DATABASE_URL:?}"\n` +
  `  reins backup --files-only --data-dir ${quoted(dataDir)} ${quoted(target)}\n` +
  "To restore, set REINS_DATABASE_URL to the URL of an empty database and run:\n" +
  `  pg_restore --no-owner --exit-on-error --dbname="\${REINS_DATABASE_URL:?}" reins.dump\n` +
  "  reins restore --data-dir <an empty directory> --keyring <the keyring.json> <the backup>"

const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const keysAreOut = (keyFile: string, keys: number): string =>
  keys === 0
    ? `The key ring ${keyFile} is not in the backup. Keep a copy of it in another place.`
    : `The key ring ${keyFile} is NOT in the backup, so that nobody can open the credentials with the backup alone. Keep a copy of that ` +
      "file in another place: without it the credentials in this backup are lost."

const keysAreIn = (file: string): string =>
  `The key ring is in ${file}. Everybody who can read that file can open every credential, so keep it as you keep passwords.`
