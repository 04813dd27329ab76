import * as z from 'zod'

/** The model of a thread or a turn. Without an effort, Codex takes the model's own. */
export interface CodexSettings {
  readonly model: string
  readonly effort: string | undefined
}

/** What Codex tells of a thread's settings. */
export interface ThreadSettings extends CodexSettings {
  readonly provider: string
  /** Absent if Codex doesn't tell it. */
  readonly mode: { readonly name: string; readonly instructions: string } | undefined
}

const mode = z.object({
  mode: z.string(),
  settings: z.object({ developer_instructions: z.string().nullish() }),
})

const shared = { model: z.string(), modelProvider: z.string(), collaborationMode: mode.nullish().catch(undefined) }
const opened = z.object({ ...shared, reasoningEffort: z.string().nullish() })
const updated = z.object({ ...shared, effort: z.string().nullish() })

/** The settings of the thread that a response opens. Undefined if it has none. */
export function settingsIn(response: unknown): ThreadSettings | undefined {
  const found = opened.safeParse(response).data
  return found && settingsOf(found, found.reasoningEffort)
}

/** The `threadSettings` of a notification. Undefined if they are malformed. */
export function updatedSettings(value: unknown): ThreadSettings | undefined {
  const found = updated.safeParse(value).data
  return found && settingsOf(found, found.effort)
}

/** Without instructions, the mode has empty ones, because Codex replaces missing ones with those of the mode. */
function settingsOf(
  { model, modelProvider: provider, collaborationMode }: Omit<z.infer<typeof opened>, 'reasoningEffort'>,
  effort: string | null | undefined,
): ThreadSettings {
  const mode = collaborationMode
    ? { name: collaborationMode.mode, instructions: collaborationMode.settings.developer_instructions ?? '' }
    : undefined
  return { model, provider, effort: effort ?? undefined, mode }
}
