import { Schema } from "effect"

const maxFolders = 100
const maxLength = 500

const forbidden = /[\\\p{Cc}\p{Surrogate}]/u

const isName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/^\.git$/i.test(name)

/** True for the path of a folder below the root of a repository, written plainly. */
export const isFolderPath = (path: string): boolean => !forbidden.test(path) && path.split("/").every(isName)

const SparseFolder = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(maxLength),
  Schema.filter(isFolderPath, {
    message: () =>
      "Input should be the path of a folder from the root of the repository, as in `apps/web`: no `/` at its start or end, no `.`, `..` or `.git` " +
      "between slashes, no `//`, no backslash and no control character"
  })
)

/** The folders of a repository that a workspace holds. */
export const SparseFolders = Schema.Array(SparseFolder).pipe(
  Schema.minItems(1),
  Schema.maxItems(maxFolders),
  Schema.filter((folders) => new Set(folders).size === folders.length, {
    message: () => "Input should name each folder once",
    jsonSchema: { uniqueItems: true }
  })
)
export type SparseFolders = typeof SparseFolders.Type
