import { rm, writeFile } from "node:fs/promises"
import * as path from "node:path"
import type { Guidance } from "@reins/base/domain/Guidance"
import type { GuidancePlaces } from "./Manifest.js"
import { makeOwnDirectory } from "./OwnDirectory.js"

/** A file below the home of an agent. */
interface HomeFile {
  readonly path: string
  readonly content: Buffer
  readonly mode: number
}

/** The files in which an agent finds instructions and skills, relative to its home. An agent without a place for skills reads them as instructions. */
export const guidanceFiles = (places: GuidancePlaces, { instructions, skills }: Guidance): ReadonlyArray<HomeFile> => {
  const { skills: folder } = places
  const texts = [instructions, ...(folder === null ? skills.map(textOf) : [])].filter((text) => text !== null)
  return [
    ...(texts.length === 0
      ? []
      : [{ path: places.instructions, content: Buffer.from(`${texts.join("\n\n")}\n`), mode: 0o600 }]),
    ...(folder === null
      ? []
      : skills.flatMap(({ files, name }) =>
          files.map(({ content, executable, path: file }) => ({
            path: `${folder}/${name}/${file}`,
            content: Buffer.from(content, "base64"),
            mode: executable ? 0o700 : 0o600
          }))
        ))
  ]
}

const textOf = ({ files, name }: Guidance["skills"][number]): string => {
  const main = files.find(({ path: file }) => file === "SKILL.md")
  const text = Buffer.from(main?.content ?? "", "base64").toString()
  return `# Skill: ${name}\n\n${text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, "").trim()}`
}

/** Writes them below a home. The folders of the skills are made anew, because the agent of an earlier turn may have changed them. */
export const writeGuidance = async (places: GuidancePlaces, guidance: Guidance, homeDir: string): Promise<void> => {
  if (places.skills !== null)
    for (const { name } of guidance.skills) {
      const folder = path.join(homeDir, places.skills)
      await makeOwnDirectory(homeDir, folder)
      await rm(path.join(folder, name), { recursive: true, force: true })
    }
  for (const { content, mode, path: file } of guidanceFiles(places, guidance)) {
    const target = path.join(homeDir, file)
    await makeOwnDirectory(homeDir, path.dirname(target))
    await rm(target, { recursive: true, force: true })
    await writeFile(target, content, { flag: "wx", mode })
  }
}
