import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

interface Copying {
  /** The folder, below the repository. */
  readonly to: string
  readonly change?: (text: string, file: string) => string
}

/** The declarations come from the type check, which is incremental; bundling those of a hundred modules is not. */
export const copyDeclarations = (name: string, from: string, { change = (text) => text, to }: Copying): void => {
  execFileSync(process.execPath, ["scripts/typecheck.mjs", `packages/${name}`], { stdio: "inherit" })
  // Those of modules that are gone stay where the type check has left them.
  const exists = (file: string): boolean => existsSync(join(`packages/${name}/src`, file.replace(/\.d\.ts$/, ".ts")))
  const copied = (text: string, file: string) => change(text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"), file)
  copyFiles(from, to, copied, exists)
}

/** The same declarations for those who `require`. A compiler tells the kind of a module by the ending of its declarations. */
export const declareForCommonJs = (directory: string): void => {
  for (const file of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts")) continue
    const text = readFileSync(join(directory, file), "utf8")
    const named = text.replace(/((?:from |import\()"\.[^"]*)\.js"/g, '$1.cjs"')
    writeFileSync(join(directory, file.replace(/\.d\.ts$/, ".d.cts")), named)
  }
}

export const copyFiles = (
  from: string,
  to: string,
  change = (text: string, _file: string): string => text,
  which = (_file: string): boolean => true
): void => {
  for (const file of readdirSync(from, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".d.ts") || !which(file)) continue
    mkdirSync(dirname(join(to, file)), { recursive: true })
    writeFileSync(join(to, file), change(readFileSync(join(from, file), "utf8"), file))
  }
}
