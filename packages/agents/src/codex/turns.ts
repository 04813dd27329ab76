import type { LocalEnding, LocalRun } from '@reply/core/source'
import type { Task } from './decode/item.ts'
import type { CodexEvent } from './decode/notification.ts'
import type { RunWriter } from './run-writer.ts'

/**
 * Assigns the turns of Codex's threads to runs, by the ids of the turns. Most turns answer a prompt of this program. Codex
 * also begins turns by itself, for example towards a goal. Sub-agents are threads whose turns go on after their parent's.
 */
export interface Turns {
  /** Call it before you send the prompt of a run. Events of turns that begin until `confirm` are held. */
  expect(run: LocalRun): void
  /** Call it with the turn that takes the prompt, or without one if the prompt was refused. */
  confirm(run: LocalRun, turnID?: string): void
  write(event: CodexEvent, raw: unknown): void
  /** Shows the rest of a turn, which began before, in this run. */
  adopt(threadID: string, turnID: string, run: LocalRun): void
  /**
   * The run that shows the turn. Without a turn's id, that of any turn of the thread that goes on. Undefined if there is
   * none. Assigns the turn if it is held, because a prompt that is on its way can't have asked yet.
   */
  runOf(threadID: string, turnID: string | undefined): LocalRun | undefined
  /** Closes an ask of the thread. */
  closeAsk(threadID: string, requestID: string): void
  /** Notes what the thread's own turns are for. */
  setGoal(threadID: string, objective: string): void
  /** The id of the turn that a run shows. Undefined if it is unknown so far. */
  turnOf(run: LocalRun): string | undefined
  /** Forgets everything. Call it when a new process starts. */
  clear(): void
}

interface Turn {
  readonly threadID: string
  run: LocalRun
  /** Whether another turn ends the run. */
  isGuest: boolean
  /** Prompts that the turn takes besides its first one, and has not reached so far. */
  joining: LocalRun[]
  /** Commands that a run left in the background. */
  readonly left: Set<string>
}

interface Held {
  readonly threadID: string
  readonly events: { readonly event: CodexEvent; readonly raw: unknown }[]
}

/** A sub-agent, by its thread. */
interface Agent {
  /** The run that gave it its last task. */
  parent: LocalRun
  task: Task
}

/** How many turns of unknown threads are held. The call that names a sub-agent's thread may come after its first events. */
const mostHeld = 50

/** `isOpen` tells whether a thread is a session. `wake` begins a run of that session without a prompt. */
export function createTurns(
  writer: RunWriter,
  isOpen: (threadID: string) => boolean,
  wake: (threadID: string, reason: string) => LocalRun,
): Turns {
  const turns = new Map<string, Turn>()
  /** Turns that have begun and have no run so far. */
  const held = new Map<string, Held>()
  const agents = new Map<string, Agent>()
  const goals = new Map<string, string>()
  /** Runs whose prompt is on its way. */
  const sent = new Set<LocalRun>()
  /** How the last turns ended. The response that names a turn may be handled after the turn's end. */
  const ended = new Map<string, LocalEnding>()
  return {
    expect: (run) => {
      // Added first, so that a turn that is shown in this run does not end it.
      sent.add(run)
      // These turns began before the prompt, so they are not its own.
      for (const [turnID, { threadID }] of [...held]) if (threadID === run.sessionID) assign(turnID, true)
    },
    confirm,
    write,
    adopt: (threadID, turnID, run) => begin(turnID, threadID, run, false),
    runOf: (threadID, turnID) => {
      if (turnID !== undefined && held.has(turnID)) assign(turnID, true)
      return turnID === undefined
        ? [...turns.values()].findLast((turn) => turn.threadID === threadID)?.run
        : turns.get(turnID)?.run
    },
    closeAsk: (threadID, requestID) => {
      for (const turn of turns.values()) if (turn.threadID === threadID) turn.run.closeAsk(requestID)
    },
    setGoal: (threadID, objective) => void goals.set(threadID, objective),
    turnOf: (run) => [...turns].find(([, turn]) => turn.run === run || turn.joining.includes(run))?.[0],
    clear: () => {
      for (const map of [turns, held, agents, goals, ended]) map.clear()
      sent.clear()
    },
  }

  function confirm(run: LocalRun, turnID?: string): void {
    sent.delete(run)
    const turn = turnID === undefined ? undefined : turns.get(turnID)
    const ending = turnID === undefined ? undefined : ended.get(turnID)
    // The run shows the turn already, which takes the prompt and ends the run.
    if (turn?.run === run) turn.isGuest = false
    else if (turn) turn.joining.push(run)
    else if (ending) run.end(unreadEnding(ending))
    else if (turnID !== undefined) begin(turnID, run.sessionID, run, false)
    for (const [id, { threadID }] of [...held]) if (threadID === run.sessionID) assign(id, false)
  }

  function begin(turnID: string, threadID: string, run: LocalRun, isGuest: boolean): void {
    turns.set(turnID, { threadID, run, isGuest, joining: [], left: new Set() })
    const { events = [] } = held.get(turnID) ?? {}
    held.delete(turnID)
    for (const { event, raw } of events) write(event, raw)
  }

  function write(event: CodexEvent, raw: unknown): void {
    const { threadID, turnID } = event
    const turn = turns.get(turnID)
    if (turn) return writeTo(turn, event, raw)
    const waiting = held.get(turnID)
    // Other turns have ended, or began before this connection.
    if (!waiting && event.type !== 'turn') return
    if (waiting) waiting.events.push({ event, raw })
    else {
      held.set(turnID, { threadID, events: [{ event, raw }] })
      const [oldest] = held.keys()
      if (held.size > mostHeld && oldest !== undefined) held.delete(oldest)
    }
    assign(turnID, false)
  }

  /** Gives a held turn its run, if it is clear whose it is. With `isOwn` it is clear that no prompt of ours began it. */
  function assign(turnID: string, isOwn: boolean): void {
    const found = held.get(turnID)
    if (!found) return
    const { threadID, events } = found
    const agent = agents.get(threadID)
    if (agent) {
      const { title, text } = agent.task
      const { parent } = agent
      const child = parent.child({ sessionID: threadID, title, text: text || undefined, background: true })
      return begin(turnID, threadID, child, false)
    }
    if (!isOpen(threadID)) return
    if (!isOwn && [...sent].some((run) => run.sessionID === threadID)) return
    // A turn that another program prompted tells that in its second event.
    if (!isOwn && events.length < 2) return
    const run = wake(threadID, reasonOf(found))
    // A session has one run at a time, which may be that of another turn, or of a prompt that is on its way.
    const isGuest = sent.has(run) || [...turns.values()].some((turn) => turn.run === run)
    begin(turnID, threadID, run, isGuest)
  }

  function reasonOf({ threadID, events }: Held): string {
    const prompt = events.map(({ event }) => event).find((event) => event.type === 'prompt')
    if (prompt?.type === 'prompt') return `Prompted elsewhere: ${prompt.text}`
    const goal = goals.get(threadID)
    return goal === undefined ? 'Codex goes on by itself.' : `Codex works towards its goal: ${goal}`
  }

  function writeTo(turn: Turn, event: CodexEvent, raw: unknown): void {
    switch (event.type) {
      case 'turn':
        return
      case 'prompt':
        return takePrompt(turn, event.clientID)
      case 'end':
        return endTurn(turn, event)
      case 'call': {
        if (turn.left.has(event.callID)) return
        if (event.task) giveTask(turn.run, event.task)
        return writer.write(turn.run, event, raw)
      }
      default:
        writer.write(turn.run, event, raw)
    }
  }

  /** Goes on in the run of another prompt, if the turn takes it now. */
  function takePrompt(turn: Turn, clientID: string | undefined): void {
    const next = [...turn.joining, ...sent].find(({ promptID }) => promptID === clientID)
    if (!next || next === turn.run) return
    turn.joining = turn.joining.filter((run) => run !== next)
    for (const callID of writer.leaveCommands(turn.run)) turn.left.add(callID)
    if (!turn.isGuest) turn.run.end({ type: 'completed', finish: 'tool-calls' })
    turn.run = next
    turn.isGuest = false
  }

  function endTurn(turn: Turn, { turnID, ending }: Extract<CodexEvent, { readonly type: 'end' }>): void {
    turns.delete(turnID)
    ended.set(turnID, ending)
    const [oldest] = ended.keys()
    if (ended.size > mostEnded && oldest !== undefined) ended.delete(oldest)
    if (ending.type === 'completed') writer.leaveCommands(turn.run)
    if (!turn.isGuest) turn.run.end(ending)
    for (const run of turn.joining) run.end(unreadEnding(ending))
  }

  function giveTask(run: LocalRun, task: Task): void {
    for (const id of task.agentIDs) {
      const agent = agents.get(id)
      if (agent) {
        agent.parent = run
        agent.task = task
      } else agents.set(id, { parent: run, task })
      for (const [turnID, { threadID }] of [...held]) if (threadID === id) assign(turnID, false)
    }
  }
}

/** How many turns are remembered after their end. */
const mostEnded = 50

/** How the run of a prompt ends that a turn took and did not read: as the turn, or as failed if the turn was completed. */
function unreadEnding(ending: LocalEnding): LocalEnding {
  if (ending.type !== 'completed') return ending
  const message = 'Codex ended its turn before it read this prompt. Send it again.'
  return { type: 'failed', error: { name: 'CodexError', message, raw: undefined } }
}
