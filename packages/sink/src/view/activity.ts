import { type Child, partsOf, type Reply, type TextPart, type ToolPart } from '@reply/core'
import { amount } from '@reply/core/show'
import type { Texts } from '../texts.ts'
import { clip, oneLine } from './format.ts'
import type { StatusOptions } from './status.ts'
import { titleOf } from './tool.ts'

/** What a reply does now. */
export interface Activity {
  /** One line of plain words. */
  readonly text: string
  /** Stays the same as long as the same thing is done, whatever the text says of it. */
  readonly key: string
  /** When it began, in ms since the epoch. Undefined if the reply does not say. */
  readonly since?: number | undefined
}

/** UTF-16 units of a sub-agent's description, so that its tool is seen behind it. */
const descriptionLength = 40

/** UTF-16 units of all agents above the tool of the deepest one. */
const agentsLength = 80

/** What the reply does now, with the sub-agent that works, and that one's tool. */
export function activityOf(reply: Reply, options: StatusOptions): Activity {
  const { texts } = options
  if (reply.connection === 'lost') return { key: 'lost', text: texts.lostConnection }
  if (reply.retry) return { key: 'retry', text: retryText(reply.retry, options) }
  const compaction = compactionOf(reply, texts)
  if (compaction) return compaction
  if (reply.stalled) return { key: 'stalled', text: texts.stalled }
  const agents = agentsOf(reply)
  const own = reply.phase === 'settled' ? undefined : openPartOf(reply)
  const first = agents[0]
  const deepest = agents.at(-1)
  if (!first || !deepest) {
    if (own) return { key: own.type === 'tool' ? own.id : own.type, text: oneLine(wordsOf(own, reply, texts), 120) }
    if (reply.phase === 'waiting') return { key: 'waiting', text: texts.waiting, since: reply.startedAt }
    return { key: 'working', text: texts.working }
  }
  const names = agents.map(({ agent, title }) => texts.subAgent(agent, title && oneLine(title, descriptionLength)))
  const inner = openPartOf(deepest.reply)
  const doing = compactionOf(deepest.reply, texts)?.text ?? (inner && wordsOf(inner, deepest.reply, texts))
  const who = clip(names.join(' · '), agentsLength)
  const text = oneLine(doing === undefined ? who : `${who} · ${doing}`, 120)
  return { key: `agent:${first.reply.sessionID}`, text, since: first.reply.startedAt }
}

/** The sub-agents at work, from the top down: at each level the one that started last. */
function agentsOf({ children }: Reply): readonly Child[] {
  const child = children.findLast(({ reply }) => reply.phase !== 'settled')
  return child ? [child, ...agentsOf(child.reply)] : []
}

function compactionOf({ compaction }: Reply, texts: Texts): Activity | undefined {
  if (compaction?.state !== 'running') return undefined
  const { tokensBefore, startedAt } = compaction
  const tokens = tokensBefore === undefined ? undefined : amount(tokensBefore)
  return { key: 'compacting', text: texts.compacting(tokens), since: startedAt }
}

type Shown = ToolPart | TextPart | { readonly type: 'reasoning' }

function openPartOf(reply: Reply): Shown | undefined {
  const part = partsOf(reply).findLast(({ status }) => status === 'open')
  return part?.type === 'tool' || part?.type === 'reasoning' || part?.type === 'text' ? part : undefined
}

function wordsOf(part: Shown, reply: Reply, texts: Texts): string {
  if (part.type === 'tool') return titleOf(part, reply)
  return part.type === 'text' ? texts.writing : texts.thinking
}

/** Why and when the server tries again. */
export function retryText(
  { message, nextAt, attempt }: NonNullable<Reply['retry']>,
  { now, stepMs = 1000, texts }: StatusOptions,
): string {
  const waitMs = nextAt === undefined ? undefined : Math.ceil(Math.max(0, nextAt - now) / stepMs) * stepMs
  return texts.retrying({ message: oneLine(message, 80), wait: waitMs ? texts.elapsed(waitMs) : undefined, attempt })
}
