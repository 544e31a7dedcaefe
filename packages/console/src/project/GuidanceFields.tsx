import type { Skill } from "@reins/client"
import { Field } from "../ui/Basics.js"
import { shortDigest } from "./Skills.js"
import { filled, type SpecProps } from "./Spec.js"

/** The instructions of a version, and the skills that it names. */
export const GuidanceFields = ({ put, skills, spec }: SpecProps & { readonly skills: ReadonlyArray<Skill> }) => {
  const pinned = spec.skills ?? []
  const names = [...new Set([...skills, ...pinned].map(({ name }) => name))].sort()
  const pin = (name: string, digest: string) => {
    const others = pinned.filter((each) => each.name !== name)
    const next = digest === "" ? others : [...others, { name, digest }]
    put({ skills: filled({ next })?.next })
  }
  return (
    <fieldset class="part">
      <legend>Instructions and skills</legend>
      <Field label="Instructions" hint="What agents are told of the work in every session.">
        <textarea
          rows={4}
          maxLength={65_536}
          value={spec.instructions ?? ""}
          onInput={({ currentTarget }) => put({ instructions: currentTarget.value || undefined })}
        />
      </Field>
      {names.map((name) => {
        const chosen = pinned.find((each) => each.name === name)?.digest ?? ""
        const digests = new Set(skills.filter((each) => each.name === name).map(({ digest }) => digest))
        if (chosen !== "") digests.add(chosen)
        return (
          <Field key={name} label={`Skill ${name}`}>
            <select value={chosen} onInput={({ currentTarget }) => pin(name, currentTarget.value)}>
              <option value="">not used</option>
              {[...digests].map((digest) => (
                <option key={digest} value={digest}>
                  {shortDigest(digest)}
                </option>
              ))}
            </select>
          </Field>
        )
      })}
    </fieldset>
  )
}
