/** A part of a message, as far as this file looks at it. */
export interface UIPartLike {
  /** `text`, `dynamic-tool`, … */
  readonly type: string
}

/** A message of `useChat`, of any type. */
export interface UIMessageOf {
  /** `user` or `assistant`. */
  readonly role?: string
  /** Its parts. */
  readonly parts: readonly UIPartLike[]
}

/**
 * For `sendAutomaticallyWhen` of `useChat`: whether a person has answered all that the last message asks at its tool parts.
 * Unlike the AI SDK's own functions, it doesn't wait for tools that the agent runs meanwhile.
 */
export function sendWhenAnswered({ messages }: { readonly messages: readonly UIMessageOf[] }): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return false
  const states = lastStepOf(last.parts).map(askStateOf)
  return states.includes('answered') && !states.includes('waiting')
}

/** The parts behind the last beginning of a step. */
function lastStepOf(parts: readonly UIPartLike[]): readonly UIPartLike[] {
  return parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1)
}

/** Whether a part waits for a person, or has just been answered in this page. */
function askStateOf(part: UIPartLike): 'waiting' | 'answered' | undefined {
  if (part.type !== 'dynamic-tool') return undefined
  const { state, providerExecuted, output } = fieldsOf(part)
  if (state === 'approval-requested') return 'waiting'
  if (state === 'approval-responded') return 'answered'
  // Only questions are not run by the agent. Their answers are lists, until the agent's own output takes their place.
  if (providerExecuted !== false) return undefined
  if (state === 'input-available') return 'waiting'
  if (state === 'output-available') return typeof output === 'string' ? undefined : 'answered'
  return state === 'output-error' ? 'answered' : undefined
}

/**
 * The text of a message, as `textOf` of the core has it for a reply: its texts, joined with a blank line. Leaves out what the
 * agent took back.
 */
export function uiTextOf({ parts }: { readonly parts: readonly UIPartLike[] }): string {
  const retracted = new Set(parts.flatMap(retractedIn))
  const texts = new Map<unknown, string>()
  for (const part of parts) {
    const { text, ...fields } = fieldsOf(part)
    if (part.type !== 'text' || typeof text !== 'string') continue
    const { part: id, retracted: isRetracted, continues } = infoOf(fields)
    if (isRetracted === true || (typeof id === 'string' && retracted.has(id))) continue
    const key = typeof id === 'string' ? id.replace(/~\d+$/, '') : part
    const before = continues === true ? texts.get(key) : undefined
    // One that was sent anew stands where it was sent last.
    if (before === undefined) texts.delete(key)
    texts.set(key, `${before ?? ''}${text}`)
  }
  return [...texts.values()].filter((text) => text.trim() !== '').join('\n\n')
}

type Fields = Readonly<Record<string, unknown>>

/** The fields of a part or of something in it. Empty for anything else. */
function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** What @reply/ui says about a text. */
function infoOf({ providerMetadata }: Fields): Fields {
  return fieldsOf(fieldsOf(providerMetadata).reply)
}

/** The ids of the parts that the agent took back after they had ended. */
function retractedIn(part: UIPartLike): readonly unknown[] {
  const { parts } = fieldsOf(fieldsOf(part).data)
  return part.type === 'data-retracted' && Array.isArray(parts) ? parts : []
}
