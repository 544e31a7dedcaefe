import type { AskedCall, AskedDiff } from "./AskedCall.js"

const pathNames = ["file_path", "filePath", "filepath", "path", "absolute_path", "target_file", "fileName"]
const beforeNames = ["old_string", "oldString", "old_str", "old_text", "before"]
const afterNames = ["new_string", "newString", "new_str", "new_text", "after"]
const wholeNames = ["content", "contents", "file_text"]
const everywhereNames = ["replace_all", "replaceAll"]

/** The changes of files that a call tells: as such, or with its input alone where that says nothing else. */
export const toldDiffs = ({ diffs, input, kind }: AskedCall): ReadonlyArray<AskedDiff> => {
  if (diffs.length > 0 || kind !== "edit" || typeof input !== "object" || input === null) return diffs
  const fields = new Map<string, unknown>(Object.entries(input))
  const take = (names: ReadonlyArray<string>): string | undefined => {
    const name = names.find((each) => typeof fields.get(each) === "string")
    const text = name === undefined ? undefined : fields.get(name)
    if (name !== undefined) fields.delete(name)
    return typeof text === "string" ? text : undefined
  }
  const [path, whole, before, after] = [take(pathNames), take(wholeNames), take(beforeNames), take(afterNames)]
  for (const name of everywhereNames) fields.delete(name)
  if (path === undefined || path === "" || fields.size > 0) return diffs
  if (whole !== undefined && before === undefined && after === undefined)
    return [{ path, old_text: null, new_text: whole }]
  return whole === undefined && before !== undefined && after !== undefined
    ? [{ path, old_text: before, new_text: after }]
    : diffs
}
