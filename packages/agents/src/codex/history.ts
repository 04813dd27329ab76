import type { LocalHistory, LocalRun } from '@reply/core/source'
import { type CodexItem, decodeItem, isRunningItem, type Task } from './decode/item.ts'
import { type CodexEvent, decodeNotification, endingOf, eventOf } from './decode/notification.ts'
import { decodeRpc } from './decode/request.ts'
import type { CodexTurn } from './decode/thread.ts'
import type { CodexOutput } from './run-writer.ts'
import type { OpenTurn, TurnSoFar } from './turns.ts'

/** Where an item belongs. */
interface TurnIDs {
  readonly threadID: string
  readonly turnID: string
}

/**
 * Adds the turns of a thread to a session's history, with their sub-agents. Returns the turns that still go on, whose runs are
 * left open: the thread's last one, and those of sub-agents. `write` writes an event to a run. `turnsOf` returns the turns of a
 * thread, oldest first, and its errors reject this.
 */
export async function addTurns(
  threadID: string,
  history: LocalHistory,
  write: (run: LocalRun, event: CodexOutput) => Promise<void>,
  turnsOf: (threadID: string) => Promise<readonly CodexTurn[]>,
): Promise<readonly OpenTurn[]> {
  const open: OpenTurn[] = []
  for (const turn of await turnsOf(threadID)) {
    const run = await addTurn(turn)
    if (goesOn(turn)) open.push({ threadID, turnID: turn.id, run })
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
      for (const agentID of event.task.agentIDs) await addAgent(run, agentID, event.task)
    }
    await write(run, event)
  }

  /** Adds a sub-agent with all its turns. It ends as its last one, or as aborted if there is none, unless that goes on. */
  async function addAgent(parent: LocalRun, agentID: string, task: Task): Promise<void> {
    const agentTurns = await turnsOf(agentID)
    const { title, text } = task
    const child = parent.child({ sessionID: agentID, title, text: text || undefined, background: true })
    for (const turn of agentTurns)
      for (const item of itemsOf(turn)) await addItem(child, item, { threadID: agentID, turnID: turn.id })
    const last = agentTurns.at(-1)
    if (last && goesOn(last)) open.push({ threadID: agentID, turnID: last.id, run: child, agent: { parent, task } })
    else child.end(last ? endingOf(last) : { type: 'aborted' })
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

/**
 * Returns a turn of a history from its beginning, for a client that may have missed some of it. Leaves out texts that are among
 * the messages to come and can't be told by their ids, as up to Codex 0.150.0.
 */
export function turnSoFar(threadID: string, turn: CodexTurn, coming: readonly unknown[]): TurnSoFar {
  const ids = { threadID, turnID: turn.id }
  const events = itemsOf(turn).flatMap((item): CodexEvent[] => {
    const event = eventOf(item, item.type !== 'prompt', ids)
    return event ? [event] : []
  })
  for (const one of coming.flatMap(eventsIn)) {
    if (one.turnID !== turn.id || one.type !== 'message') continue
    const at = events.findLastIndex(
      (event) => event.type === 'message' && event.text === one.text && isPlaceID(event.partID),
    )
    if (at !== -1) events.splice(at, 1)
  }
  return {
    turnID: turn.id,
    events: [{ type: 'turn', ...ids }, ...events],
    ending: goesOn(turn) ? undefined : endingOf(turn),
  }
}

/** The event of a turn that a message of Codex is. Empty for other messages. */
export function eventsIn(value: unknown): readonly CodexEvent[] {
  const message = decodeRpc(value)
  const notice = message?.type === 'notification' ? decodeNotification(message.method, message.params) : undefined
  return notice?.type === 'event' ? [notice.event] : []
}

/** Whether an id only tells the place of an item in its turn. */
const isPlaceID = (id: string): boolean => /^item-\d+$/.test(id)

/** Whether a turn has not ended. */
export function goesOn({ status }: CodexTurn): boolean {
  return status === 'inProgress'
}

/** Why a turn of a history began without a prompt. Codex doesn't keep that. */
const ownReason = 'Codex went on by itself.'

/** Returns the items of a turn that change a reply, as if all were done, except for the running calls of a turn that goes on. */
function itemsOf(turn: CodexTurn): readonly CodexItem[] {
  return turn.items.flatMap((value) => decodeItem(value, !(goesOn(turn) && isRunningItem(value))) ?? [])
}
