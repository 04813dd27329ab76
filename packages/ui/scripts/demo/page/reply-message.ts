import type { UIMessage } from 'ai'
import type {
  UIAgent,
  UIAsk,
  UIFile,
  UIMetadata,
  UIPartInfo,
  UIRetracted,
  UIRetry,
  UITodos,
} from '../../../src/index.ts'

/** A message of `useChat` with what reply adds to it. */
export type ReplyMessage = UIMessage<
  UIMetadata,
  { ask: UIAsk; agent: UIAgent; todos: UITodos; file: UIFile; retracted: UIRetracted; retry: UIRetry }
>

type ReplyPart = ReplyMessage['parts'][number]

/** What a part says about itself. Empty if it says nothing. */
export function infoOf(part: ReplyPart): Partial<UIPartInfo> {
  return 'providerMetadata' in part && part.providerMetadata?.reply ? part.providerMetadata.reply : {}
}

/** A part to show, with a name that stays. */
export interface ShownPart {
  readonly key: string
  readonly part: ReplyPart
}

/**
 * The parts to show, in an order that is the same for a page that was there and for one that came late: sub-agents and asks stand
 * below the call that they belong to, the checklist below the first call that wrote it. Each stands once.
 */
export function shownParts(message: ReplyMessage): readonly ShownPart[] {
  const agents = message.parts.flatMap((part) => (part.type === 'data-agent' ? [part] : []))
  const asks = message.parts.flatMap((part) => (part.type === 'data-ask' ? [part] : []))
  const todos = message.parts.flatMap((part) => (part.type === 'data-todos' ? [part] : []))
  const below = ({ part }: ShownPart): readonly ReplyPart[] => {
    if (part.type !== 'dynamic-tool') return []
    const started = agents.filter(({ data }) => data.toolCallId === part.toolCallId)
    const sessions = started.map(({ data }) => data.sessionID)
    return [
      ...started,
      ...asks.filter(({ data }) => data.toolCallId === part.toolCallId || sessions.includes(data.sessionID)),
      ...(/todo/i.test(part.toolName) ? todos : []),
    ]
  }
  const shown = keptParts(message).flatMap((one) => [one, ...below(one).map(named)])
  const all = [...shown, ...[...agents, ...asks, ...todos].map(named)]
  return [...new Map(all.map((one) => [one.key, one])).values()]
}

function named(part: ReplyPart): ShownPart {
  return { key: 'id' in part && part.id !== undefined ? part.id : part.type, part }
}

/** The texts, calls and files of a message: without those that the agent took back, and with texts that go on joined. */
function keptParts(message: ReplyMessage): readonly ShownPart[] {
  const retracted = new Set(message.parts.flatMap((part) => (part.type === 'data-retracted' ? part.data.parts : [])))
  const kept: ShownPart[] = []
  for (const [index, part] of message.parts.entries()) {
    const { part: name, retracted: isRetracted, continues } = infoOf(part)
    const id = part.type === 'dynamic-tool' ? part.toolCallId : name
    if (isRetracted || (id !== undefined && retracted.has(id))) continue
    if (part.type.startsWith('data-') && part.type !== 'data-file') continue
    const before = kept.at(-1)
    if (continues && part.type === 'text' && before?.part.type === 'text')
      kept[kept.length - 1] = { key: before.key, part: { ...before.part, text: before.part.text + part.text } }
    else kept.push({ key: id ?? `${index}`, part })
  }
  return kept
}

/** The asks of a message that wait for a person. */
export function pendingAsks({ parts }: ReplyMessage): readonly UIAsk[] {
  return parts.flatMap((part) => (part.type === 'data-ask' && part.data.status === 'pending' ? [part.data] : []))
}

/** Whether the reply of the last message may go on. It also does while it waits for a person. */
export function mayGoOn(messages: readonly ReplyMessage[]): boolean {
  const last = messages.at(-1)
  return last !== undefined && last.metadata?.outcome === undefined
}
