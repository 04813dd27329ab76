import type { LocalHistory, LocalRun } from '@reply/core/source'
import { type CodexItem, decodeItem, isRunningItem } from './decode/item.ts'
import { type CodexEvent, endingOf, eventOf } from './decode/notification.ts'
import type { CodexTurn } from './decode/thread.ts'
import type { CodexOutput } from './run-writer.ts'

interface TurnIDs {
  readonly threadID: string
  readonly turnID: string
}

/**
 * Adds the turns of a thread to a session's history. The turn that is still going on, if there is one, is left open. Returns
 * its run.
 */
export async function addTurns(
  threadID: string,
  history: LocalHistory,
  write: (run: LocalRun, event: CodexOutput) => Promise<void>,
  turnsOf: (threadID: string) => Promise<readonly CodexTurn[]>,
): Promise<{ readonly turnID: string; readonly run: LocalRun } | undefined> {
  let open: { readonly turnID: string; readonly run: LocalRun } | undefined
  for (const turn of await turnsOf(threadID)) {
    const run = await addTurn(turn)
    if (turn.status === 'inProgress') open = { turnID: turn.id, run }
    else run.end(endingOf(turn))
  }
  return open

  /** Adds a run for each prompt that the turn took. Returns the last one, without an end. */
  async function addTurn(turn: CodexTurn): Promise<LocalRun> {
    const at = turn.startedAt ? turn.startedAt * 1000 : undefined
    const items = itemsIn(turn)
    const [first] = items
    const isOwn = first?.type !== 'prompt'
    let run = isOwn ? history.run({ parts: [{ type: 'text', text: ownReason, synthetic: true }], at }) : undefined
    for (const item of items) {
      if (item.type !== 'prompt') {
        if (run) await addItem(run, item, { threadID, turnID: turn.id })
        continue
      }
      run?.end({ type: 'completed', finish: 'tool-calls' })
      const { text, clientID, messageID } = item
      run = history.run({ parts: [{ type: 'text', text }], messageID: clientID ?? messageID, at })
    }
    return run ?? history.run({ parts: [], at })
  }

  async function addItem(run: LocalRun, item: CodexItem, ids: TurnIDs): Promise<void> {
    const event = eventOf(item, true, ids)
    if (!event || event.type === 'turn' || event.type === 'prompt' || event.type === 'end') return
    if (event.type === 'call' && event.task) {
      const { agentIDs, title, text } = event.task
      for (const agentID of agentIDs) await addAgent(run, agentID, title, text)
    }
    await write(run, event)
  }

  /** Adds a sub-agent with all its turns. */
  async function addAgent(parent: LocalRun, agentID: string, title: string, text: string): Promise<void> {
    const agentTurns = await turnsOf(agentID)
    const child = parent.child({ sessionID: agentID, title, text: text || undefined, background: true })
    for (const turn of agentTurns)
      for (const item of itemsIn(turn)) await addItem(child, item, { threadID: agentID, turnID: turn.id })
    const last = agentTurns.at(-1)
    child.end(last === undefined || last.status === 'inProgress' ? { type: 'aborted' } : endingOf(last))
  }
}

/**
 * The id of the prompt that is a turn's first item: the one that its client chose, otherwise Codex's own. Undefined if the
 * turn begins with something else.
 */
export function promptIDOf(turn: CodexTurn): string | undefined {
  const [first] = itemsIn(turn)
  return first?.type === 'prompt' ? (first.clientID ?? first.messageID) : undefined
}

/** The events of a turn that is going on, from its beginning. */
export function eventsOf(threadID: string, turn: CodexTurn): readonly CodexEvent[] {
  const ids = { threadID, turnID: turn.id }
  const events = turn.items.flatMap((value): CodexEvent[] => {
    const isDone = !isRunningItem(value)
    const item = decodeItem(value, isDone)
    if (item?.type === 'message') {
      // The rest of the text may follow.
      const { kind, partID, text } = item
      return text === '' ? [] : [{ type: 'delta', kind, partID, delta: text, ...ids }]
    }
    const event = item && eventOf(item, item.type !== 'prompt' && isDone, ids)
    return event ? [event] : []
  })
  return [{ type: 'turn', ...ids }, ...events]
}

/** What begins a turn without a prompt, as far as a history tells. */
const ownReason = 'Codex went on by itself.'

function itemsIn(turn: CodexTurn): readonly CodexItem[] {
  return turn.items.flatMap((value) => decodeItem(value, true) ?? [])
}
