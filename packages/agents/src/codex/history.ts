import type { LocalHistory, LocalRun } from '@reply/core/source'
import { type CodexItem, decodeItem, isRunningItem } from './decode/item.ts'
import { type CodexEvent, endingOf, eventOf } from './decode/notification.ts'
import type { CodexTurn } from './decode/thread.ts'
import type { CodexOutput } from './run-writer.ts'

/** Where an item belongs. */
interface TurnIDs {
  readonly threadID: string
  readonly turnID: string
}

/**
 * Adds the turns of a thread to a session's history, with their sub-agents. Returns the run of the turn that still goes on,
 * which is left open. Undefined if all have ended. `write` writes an event to a run. `turnsOf` returns the turns of a thread,
 * oldest first, and its errors reject this.
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

  /**
   * Adds a run for each prompt that the turn took, and one with a general reason if it began without one. Returns the last
   * run, without an end. For a turn without items, that is an empty run.
   */
  async function addTurn(turn: CodexTurn): Promise<LocalRun> {
    const at = turn.startedAt ? turn.startedAt * 1000 : undefined
    const items = itemsOf(turn)
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

  /** Writes an item to a run, after the sub-agents that it gave a task. Does nothing for items that change no reply. */
  async function addItem(run: LocalRun, item: CodexItem, ids: TurnIDs): Promise<void> {
    const event = eventOf(item, true, ids)
    if (!event || event.type === 'turn' || event.type === 'prompt' || event.type === 'end') return
    if (event.type === 'call' && event.task) {
      const { agentIDs, title, text } = event.task
      for (const agentID of agentIDs) await addAgent(run, agentID, title, text)
    }
    await write(run, event)
  }

  /** Adds a sub-agent with all its turns. It ends as its last one, or as aborted if that goes on or there is none. */
  async function addAgent(parent: LocalRun, agentID: string, title: string, text: string): Promise<void> {
    const agentTurns = await turnsOf(agentID)
    const child = parent.child({ sessionID: agentID, title, text: text || undefined, background: true })
    for (const turn of agentTurns)
      for (const item of itemsOf(turn)) await addItem(child, item, { threadID: agentID, turnID: turn.id })
    const last = agentTurns.at(-1)
    child.end(last === undefined || last.status === 'inProgress' ? { type: 'aborted' } : endingOf(last))
  }
}

/**
 * Returns the id of the prompt that is a turn's first item: the one that its client chose, otherwise Codex's own. Undefined if
 * the turn begins with something else or has no items.
 */
export function promptIDOf(turn: CodexTurn): string | undefined {
  const [first] = itemsOf(turn)
  return first?.type === 'prompt' ? (first.clientID ?? first.messageID) : undefined
}

/** Returns the events of a turn that goes on, from its beginning. The last text may grow. */
export function eventsSoFar(threadID: string, turn: CodexTurn): readonly CodexEvent[] {
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

/** Why a turn of a history began without a prompt. Codex doesn't keep that. */
const ownReason = 'Codex went on by itself.'

/** Returns the items of a turn that change a reply, as if all were done. */
function itemsOf(turn: CodexTurn): readonly CodexItem[] {
  return turn.items.flatMap((value) => decodeItem(value, true) ?? [])
}
