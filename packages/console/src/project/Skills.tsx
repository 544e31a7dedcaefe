import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Time } from "../ui/Basics.js"
import { bytes, count } from "../words/Words.js"

/** The skills of a project, which its versions name. */
export const Skills = ({ projectId }: { readonly projectId: string }) => {
  const project_id = projectId
  const list = useLoaded("the skills", (signal) => reins.projects.listSkills({ project_id }, { signal }), [projectId])
  return (
    <section aria-label="Skills">
      <h2>Skills</h2>
      <Await of={list}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="fine">
              Folders that tell agents how you work. Upload one:{" "}
              <code>reins skills push DIR --project {projectId}</code>
            </p>
          ) : (
            <ul class="rows">
              {items.map(({ bytes: size, created_at, description, digest, files, name }) => (
                <li class="row-line" key={digest}>
                  <code>{name}</code> {description}
                  <span class="fine">
                    <code>{shortDigest(digest)}</code> · {count(files, "file")}, {bytes(size)} ·{" "}
                    <Time at={created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Await>
    </section>
  )
}

/** The beginning of a digest, which tells the versions of a skill apart. */
export const shortDigest = (digest: string): string => digest.replace("sha256:", "").slice(0, 10)
