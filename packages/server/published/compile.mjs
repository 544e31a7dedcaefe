// Compiles programs in a process of its own, which it holds for seconds: node compile.mjs < request. A request has a directory, names of
// settings of the compiler, files, and places in the first of them to point at. The answer is what the compiler says of the files and of every
// declaration of ours that they reach, and what an editor shows at the places.
import { readFileSync } from "node:fs"
import ts from "typescript"

const { directory, files, module, places, resolution } = JSON.parse(readFileSync(0, "utf8"))

const options = {
  module: ts.ModuleKind[module],
  moduleResolution: ts.ModuleResolutionKind[resolution],
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true
}
const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  getCompilationSettings: () => options,
  getScriptFileNames: () => files,
  getScriptVersion: () => "1",
  getScriptSnapshot: (name) => {
    const text = ts.sys.readFile(name)
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
  },
  getCurrentDirectory: () => directory,
  getDefaultLibFileName: ts.getDefaultLibFilePath
})
const program = service.getProgram()

// Declarations of ours are checked as the program is, so that a type which cannot be found is no `any` in silence.
const reached = program
  .getSourceFiles()
  .filter(({ fileName }) => /\/@reins\//.test(fileName) || files.includes(fileName))
const found = [
  ...program.getOptionsDiagnostics(),
  ...reached.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
]
const diagnostics = found.map(
  ({ code, file, messageText }) => `${file?.fileName} TS${code}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
)
const shown = places.map((at) =>
  ts.displayPartsToString([...(service.getQuickInfoAtPosition(files[0], at)?.documentation ?? [])])
)
process.stdout.write(JSON.stringify({ diagnostics, reached: reached.length, shown }))
