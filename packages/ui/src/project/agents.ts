import { type Child, currentActivity, type Message, type Reply } from '@reply/core'
import { partChunks } from '@reply/core/internal'
import type { UIAgent } from '../chunk.ts'

/** A sub-agent with the reply that it belongs to. */
interface AgentChange {
  readonly child: Child
  readonly before: Child | undefined
  readonly parentID: string
}

/** UTF-16 units of a title and of an activity. */
const labelLength = 200

/** Returns the sub-agents that differ from those before, at any depth. Takes no time for those that are the same objects. */
export function changedAgents(reply: Reply, before: Reply | undefined): readonly AgentChange[] {
  if (reply.children === before?.children || reply.children.length === 0) return []
  return reply.children.flatMap((child, index): readonly AgentChange[] => {
    const beside = before?.children[index]
    const old =
      beside?.reply.sessionID === child.reply.sessionID
        ? beside
        : before?.children.find(({ reply: { sessionID } }) => sessionID === child.reply.sessionID)
    if (old === child) return []
    return [{ child, before: old, parentID: reply.sessionID }, ...changedAgents(child.reply, old?.reply)]
  })
}

/** What a page shows of a sub-agent, without the part that started it. */
export function agentData({ child, parentID }: { readonly child: Child; readonly parentID: string }): UIAgent {
  const { reply, background, agent, title } = child
  const activity = activityOf(reply)?.slice(0, labelLength)
  return {
    sessionID: reply.sessionID,
    parentID,
    background,
    phase: reply.phase,
    ...(agent !== undefined && { agent }),
    ...(title !== undefined && { title: title.slice(0, labelLength) }),
    ...(reply.outcome && { outcome: reply.outcome }),
    ...(activity !== undefined && { activity }),
  }
}

/** Its own activity. Its sub-agents tell theirs, and only the newest parts are looked at. */
function activityOf(reply: Reply): string | undefined {
  const last = reply.messages.at(-1)
  const messages: readonly Message[] = last ? [{ ...headOf(last), parts: partChunks(last).at(-1) ?? [] }] : []
  return currentActivity({ ...reply, messages, children: [] })
}

/** A message without its parts, which may be costly to read. */
function headOf({ id, raw }: Message): Pick<Message, 'id' | 'raw'> {
  return { id, raw }
}

/** Whether a page would show both the same. */
export function isSameAgent(a: UIAgent, b: UIAgent): boolean {
  return (
    a.phase === b.phase &&
    a.activity === b.activity &&
    a.outcome === b.outcome &&
    a.agent === b.agent &&
    a.title === b.title &&
    a.background === b.background
  )
}
