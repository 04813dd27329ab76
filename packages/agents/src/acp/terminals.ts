import { randomUUID } from 'node:crypto'
import { type ClientApp, RequestError } from '@agentclientprotocol/sdk'
import { type Clock, ReplyError } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { type CreateTerminalRequest, createTerminalRequest, terminalRequest } from './decode/v1/schema.ts'
import { pathInside } from './files.ts'
import type { AcpOptions } from './options.ts'
import { startTerminal, type Terminal } from './terminal.ts'

/** The commands that one process of the agent runs here. The methods reject with an error for the agent. */
export interface Terminals {
  /**
   * Starts a command in the session's folder or below it, and returns the terminal's id. Rejects for an unknown session,
   * outside of a run, for another folder, and while `mostOpen` terminals are open that can't be freed.
   */
  create(request: CreateTerminalRequest): Promise<string>
  /** A terminal of this session that was not released. Throws for others. */
  find(sessionID: string, terminalID: string): Terminal
  /** Ends its command and removes it. Rejects as `find` throws. */
  release(sessionID: string, terminalID: string): Promise<void>
  /** Its text. Undefined if there is no such terminal. */
  textOf(terminalID: string): string | undefined
  /** Ends all commands of this run, and prevents new ones. */
  endRun(run: LocalRun): void
  /** Called when the agent has ended. Ends all commands, and prevents new ones. */
  close(): void
}

interface TerminalHost extends Pick<AcpOptions, 'env'> {
  readonly clock: Clock
  /** The current run of a session. Undefined outside of a run, when no command may start. */
  readonly runOf: (sessionID: string) => LocalRun | undefined
  /** The folder of a session. Undefined if there is no such session. */
  readonly folderOf: (sessionID: string) => string | undefined
  readonly onChange: (sessionID: string, terminalID: string) => void
}

/** The most output that is kept of a command, in bytes, even if the agent asks for more. */
const mostKept = 1_048_576

/** How many terminals may be open at once. Each takes processes and memory. */
const mostOpen = 32

/**
 * Creates the terminals of one process of the agent, none at first. Each runs a command for the agent in its session's folder,
 * and ends with the run that it was created in, if that is aborted, or with the process.
 */
export function createTerminals({ env, clock, runOf, folderOf, onChange }: TerminalHost): Terminals {
  const terminals = new Map<
    string,
    { readonly sessionID: string; readonly terminal: Terminal; readonly run: LocalRun }
  >()
  const all = new AbortController()
  const stops = new WeakMap<LocalRun, AbortController>()
  let openCount = 0
  return {
    create,
    find: (sessionID, terminalID) => requireTerminal(sessionID, terminalID),
    release,
    textOf: (terminalID) => terminals.get(terminalID)?.terminal.text(),
    endRun: (run) => stopOf(run).abort(),
    close: () => all.abort(),
  }

  async function create(request: CreateTerminalRequest): Promise<string> {
    const { sessionId: sessionID } = request
    const folder = folderOf(sessionID)
    if (folder === undefined) throw RequestError.sessionNotFound(sessionID)
    const run = runOf(sessionID)
    if (!run) throw RequestError.invalidRequest(undefined, 'No prompt of this session is running')
    if (openCount >= mostOpen) forgetEnded()
    if (openCount >= mostOpen)
      throw RequestError.invalidRequest(undefined, `${mostOpen} terminals are open. Release some.`)
    openCount++
    try {
      const cwd = await pathInside(folder, request.cwd ?? folder)
      const terminalID = `term_${randomUUID()}`
      const terminal = await startTerminal({
        ...commandOf(request),
        cwd,
        env: { ...env, ...Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value])) },
        maxBytes: Math.min(request.outputByteLimit ?? mostKept, mostKept),
        signal: AbortSignal.any([all.signal, stopOf(run).signal]),
        clock,
        onChange: () => onChange(sessionID, terminalID),
      })
      terminals.set(terminalID, { sessionID, terminal, run })
      return terminalID
    } catch (error) {
      openCount--
      throw error instanceof ReplyError ? RequestError.invalidRequest(undefined, error.message) : error
    }
  }

  /** Frees the ended terminals of earlier runs, for agents that never release them. */
  function forgetEnded(): void {
    for (const [terminalID, { sessionID, terminal, run }] of terminals) {
      if (runOf(sessionID) === run || terminal.output().exitStatus === null) continue
      terminals.delete(terminalID)
      openCount--
    }
  }

  async function release(sessionID: string, terminalID: string): Promise<void> {
    const terminal = requireTerminal(sessionID, terminalID)
    // Removed before it is killed, so that a second release at the same time fails.
    onChange(sessionID, terminalID)
    terminals.delete(terminalID)
    await terminal.kill()
    openCount--
  }

  /** Returns a terminal of this session. Throws an error for the agent for any other, and once all were closed. */
  function requireTerminal(sessionID: string, terminalID: string): Terminal {
    const known = terminals.get(terminalID)
    if (known?.sessionID !== sessionID || all.signal.aborted) throw RequestError.resourceNotFound(terminalID)
    return known.terminal
  }

  /** Returns what ends the commands of a run. It is created at the first call. */
  function stopOf(run: LocalRun): AbortController {
    const known = stops.get(run) ?? new AbortController()
    stops.set(run, known)
    return known
  }
}

/**
 * Returns the program to start. A command without arguments is run by a shell, because Kimi CLI sends whole command lines.
 * With arguments no shell is used.
 */
function commandOf({ command, args }: CreateTerminalRequest): { readonly command: string; readonly args: string[] } {
  return args && args.length > 0 ? { command, args } : { command: '/bin/sh', args: ['-c', command] }
}

/** Registers the terminal methods of version 1, so that the agent may call them. */
export function addTerminals(app: ClientApp, terminals: Terminals): void {
  app
    .onRequest('terminal/create', createTerminalRequest, async ({ params }) => ({
      terminalId: await terminals.create(params),
    }))
    .onRequest('terminal/output', terminalRequest, ({ params: { sessionId, terminalId } }) =>
      terminals.find(sessionId, terminalId).output(),
    )
    .onRequest(
      'terminal/wait_for_exit',
      terminalRequest,
      async ({ params: { sessionId, terminalId } }) => await terminals.find(sessionId, terminalId).exited,
    )
    .onRequest('terminal/kill', terminalRequest, async ({ params: { sessionId, terminalId } }) => {
      await terminals.find(sessionId, terminalId).kill()
      return {}
    })
    .onRequest('terminal/release', terminalRequest, async ({ params: { sessionId, terminalId } }) => {
      await terminals.release(sessionId, terminalId)
      return {}
    })
}
