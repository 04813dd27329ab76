import * as z from 'zod'

/** What a person allowed for always. */
const grant = z.readonly(
  z.object({
    /** Short and unique. */
    id: z.string(),
    /** The server's name in the config. */
    server: z.string(),
    /** As `PermissionAsk.permission`. */
    permission: z.string(),
    /** What it covers: the ask's `always`. */
    patterns: z.readonly(z.array(z.string())),
    /** Who allowed it: the channel's name in the config, the id and name on its platform. */
    by: z.readonly(z.object({ channel: z.string(), actorID: z.string(), name: z.string() })),
    /** In ms since the epoch. */
    at: z.number(),
    /** Whether the server is known to have it. */
    isConfirmed: z.boolean(),
  }),
)

export type Grant = z.infer<typeof grant>

/** Throws if the text isn't a grant. */
export function toGrant(text: string): Grant {
  return grant.parse(JSON.parse(text))
}
