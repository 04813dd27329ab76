import { type Child, partsOf, type Reply, type TextPart, type ToolPart } from '@reply/core'
import { amount } from '@reply/core/show'
import type { Texts } from '../texts.ts'
import { clip, oneLine } from './format.ts'
import type { StatusOptions } from './status.ts'
import { titleOf } from './tool.ts'

/** The current activity of a reply. */
export interface Activity {
  /** One line of plain text. */
  readonly text: string
  /** Stays the same during one activity, even if its text changes. */
  readonly key: string
  /** When it began, in ms since the epoch. Undefined if unknown. */
  readonly since?: number | undefined
}

/** Maximum length of a sub-agent's description, in UTF-16 units, so that there is room for its tool. */
const descriptionLength = 40

/** Maximum length of all agents in front of the tool of the deepest one, in UTF-16 units. */
const agentsLength = 80

/**
 * Returns the current activity: a lost connection, a retry, a compaction, a stall, or else the active sub-agents with the tool
 * of the deepest one. Without sub-agents, the part that is growing. Otherwise that the reply is waiting or working.
 */
export function activityOf(reply: Reply, options: StatusOptions): Activity {
  const { texts } = options
  if (reply.connection === 'lost') return { key: 'lost', text: texts.lostConnection }
  if (reply.retry) return { key: 'retry', text: retryText(reply.retry, options) }
  const compaction = runningCompaction(reply, texts)
  if (compaction) return compaction
  if (reply.stalled) return { key: 'stalled', text: texts.stalled }
  const agents = activeAgentsOf(reply)
  const growingPart = reply.phase === 'settled' ? undefined : openPartOf(reply)
  const first = agents[0]
  const deepest = agents.at(-1)
  if (!first || !deepest) {
    if (growingPart)
      return {
        key: growingPart.type === 'tool' ? growingPart.id : growingPart.type,
        text: oneLine(partActivityText(growingPart, reply, texts), 120),
      }
    if (reply.phase === 'waiting') return { key: 'waiting', text: texts.waiting, since: reply.startedAt }
    return { key: 'working', text: texts.working }
  }
  const names = agents.map(({ agent, title }) => texts.subAgent(agent, title && oneLine(title, descriptionLength)))
  const inner = openPartOf(deepest.reply)
  const doing =
    runningCompaction(deepest.reply, texts)?.text ?? (inner && partActivityText(inner, deepest.reply, texts))
  const who = clip(names.join(' · '), agentsLength)
  const text = oneLine(doing === undefined ? who : `${who} · ${doing}`, 120)
  return { key: `agent:${first.reply.sessionID}`, text, since: first.reply.startedAt }
}

/** Returns the active sub-agents from the top down: at each level the one that started last. */
function activeAgentsOf({ children }: Reply): readonly Child[] {
  const child = children.findLast(({ reply }) => reply.phase !== 'settled')
  return child ? [child, ...activeAgentsOf(child.reply)] : []
}

/** Returns the compaction as an activity. Undefined unless it is running. */
function runningCompaction({ compaction }: Reply, texts: Texts): Activity | undefined {
  if (compaction?.state !== 'running') return undefined
  const { tokensBefore, startedAt } = compaction
  const tokens = tokensBefore === undefined ? undefined : amount(tokensBefore)
  return { key: 'compacting', text: texts.compacting(tokens), since: startedAt }
}

type ActivePart = ToolPart | TextPart | { readonly type: 'reasoning' }

/**
 * Returns the newest part that is still growing. Undefined without one, and for types other than text, reasoning and calls.
 */
function openPartOf(reply: Reply): ActivePart | undefined {
  const part = partsOf(reply).findLast(({ status }) => status === 'open')
  return part?.type === 'tool' || part?.type === 'reasoning' || part?.type === 'text' ? part : undefined
}

/** Returns the title of a tool call, or the text for writing or reasoning. */
function partActivityText(part: ActivePart, reply: Reply, texts: Texts): string {
  if (part.type === 'tool') return titleOf(part, reply)
  return part.type === 'text' ? texts.writing : texts.thinking
}

/** Returns why and when the server retries. The wait is rounded up to `stepMs`, and left out if it is over or unknown. */
export function retryText(
  { message, nextAt, attempt }: NonNullable<Reply['retry']>,
  { now, stepMs = 1000, texts }: StatusOptions,
): string {
  const waitMs = nextAt === undefined ? undefined : Math.ceil(Math.max(0, nextAt - now) / stepMs) * stepMs
  return texts.retrying({ message: oneLine(message, 80), wait: waitMs ? texts.elapsed(waitMs) : undefined, attempt })
}
