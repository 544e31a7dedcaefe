import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { diskFault } from "@reins/base/base/DiskFault"
import { Effect } from "effect"
import { usualBranch } from "../remote/RemoteFetch.js"
import { coneFiles } from "../run/Cone.js"
import { GitError, onDisk } from "../run/GitError.js"

// Writes the files of which a repository consists before it has objects.

// `info/attributes` overrides every `.gitattributes`, so no driver is ever chosen. The conversions that git makes by itself stay.
const attributes = "* !filter !merge !diff !export-subst\n"

/** The failure of writing files of a repository. */
export const fileFailure = (what: string) => (cause: unknown) =>
  new GitError({ kind: "internal", message: diskFault(what, cause) })

/** The content of HEAD on a branch. */
export const onBranch = (name: string): string => `ref: refs/heads/${name}\n`

type RepositoryFiles = Readonly<Record<string, string | Buffer>> & { readonly HEAD: string }

/** Writes the files of a repository (gitrepository-layout(5)), which take a process for each piece when git writes them. HEAD makes it a repository. */
export const writeRepository = async (gitDir: string, files: RepositoryFiles) => {
  for (const folder of ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"])
    await fs.mkdir(join(gitDir, folder), { recursive: true })
  const { HEAD, ...others } = files
  for (const [name, content] of [...Object.entries(others), ["HEAD", HEAD] as const]) {
    await fs.mkdir(dirname(join(gitDir, name)), { recursive: true })
    // As git does: an empty HEAD after a loss of power would be no repository.
    await fs.writeFile(join(gitDir, name), content, { flush: true })
  }
}

/** Makes a trusted git directory, of a workspace that holds these folders, or all. */
export const initTrusted = (gitDir: string, sparse: ReadonlyArray<string> | null = null) =>
  Effect.tryPromise({
    try: async () => {
      await fs.mkdir(gitDir, { recursive: true, mode: 0o700 })
      await fs.chmod(gitDir, 0o700)
      const config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
      await writeRepository(gitDir, {
        config,
        "info/attributes": attributes,
        ...coneFiles(sparse),
        HEAD: onBranch(usualBranch)
      })
    },
    catch: fileFailure("The git directory could not be written")
  })

/** The file with an index of exactly a base. A capture tells by it which paths the base lacks. */
export const baseIndexFile = (gitDir: string, base: string | null): string =>
  join(gitDir, `reins-base-${base ?? "none"}`)

const orKept = (cause: unknown): void => {
  if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause
}

/** Keeps the index of a workspace that was just filled as that of its base. git replaces index files and never writes into one. */
export const keepBaseIndex = (gitDir: string, base: string, index: string): Effect.Effect<void, GitError> =>
  onDisk("The index could not be kept", () => fs.link(index, baseIndexFile(gitDir, base)).catch(orKept))
