import type { LocalAnswer, LocalAsk, LocalRun } from '@reply/core/source'
import { formQuestions, formResponse } from '../forms/form.ts'
import type { CodexRequest } from './decode/request.ts'
import type { RunWriter } from './run-writer.ts'

type Asked<Type> = Extract<CodexRequest, { readonly type: Type }>

type PermissionAsk = Extract<LocalAsk, { readonly type: 'permission' }>

type Send = (result: object) => Promise<void>

/** Makes asks of Codex's requests. */
export interface CodexAsks {
  /**
   * Returns the ask to show in this run for a request of Codex. `send` answers the request. If Codex shows no call for a
   * permission, also writes one to the run, because people see in the call what they allow.
   */
  toAsk(requestID: string, asked: CodexRequest, run: LocalRun, send: Send): LocalAsk
}

/**
 * Creates what turns Codex's requests into asks for people. `writer` finds the running call of a request, which the
 * requests of MCP servers do not name.
 */
export function createAsks(writer: RunWriter): CodexAsks {
  return { toAsk }

  function toAsk(requestID: string, asked: CodexRequest, run: LocalRun, send: Send): LocalAsk {
    switch (asked.type) {
      case 'question':
        return questionAsk(requestID, asked, send)
      case 'form':
        return formAsk(requestID, asked, writer.lastCallOf(run, asked.server)?.callID, send)
      case 'permission':
        writeCommand(asked, run)
        return permissionAsk(requestID, asked, send)
      case 'mcp-permission': {
        const { server, tool } = asked
        const call = writer.callWith(run, server, tool, asked.arguments)
        if (call || tool === undefined) return mcpAsk(requestID, asked, call, send)
        // A server asks for what its own tool is about to do, as it names it.
        const ask = mcpAsk(requestID, asked, { callID: ownCallID(requestID), tool: `${server}_${tool}` }, send)
        return withOwnCall(ask, run, { arguments: asked.arguments }, () => 'Allowed.')
      }
      case 'rights': {
        const input = { ...asked.more, permissions: asked.rights }
        const granted = (answer: LocalAnswer): string => `Granted until the end of the ${scopeOf(answer)}.`
        return withOwnCall(rightsAsk(requestID, asked, send), run, input, granted)
      }
      default:
        return asked satisfies never
    }
  }

  /**
   * Writes the running call of a command that the request names, unless the run has it: Codex tells of a call once, and its
   * history has none that runs, so that a client which connected later knows it from the request alone.
   */
  function writeCommand({ callID, more, threadID, turnID }: Asked<'permission'>, run: LocalRun): void {
    const { command, cwd, kind } = more
    // What a command is given to read is not what it runs.
    if (turnID === undefined || typeof command !== 'string' || kind !== undefined) return
    if (writer.isRunning(run, callID)) return
    const input = { command, ...(typeof cwd === 'string' && { workdir: cwd }) }
    writer.write(
      run,
      { type: 'call', callID, tool: 'bash', state: { status: 'running', input }, threadID, turnID },
      undefined,
    )
  }
}

/** The id of a call that only the ask has. */
const ownCallID = (requestID: string): string => `${requestID}.call`

/** The ask for a form of an MCP server. Rejected, it is declined. Canceled, it is canceled. */
function formAsk(requestID: string, asked: Asked<'form'>, callID: string | undefined, send: Send): LocalAsk {
  const reply = async (answer: LocalAnswer): Promise<void> =>
    await send({ content: null, _meta: null, ...formResponse(answer, asked) })
  return { type: 'question', requestID, callID, questions: formQuestions(asked), reply }
}

/** The ask for Codex's own questions. Every answer other than `answered` sends no answers. */
function questionAsk(requestID: string, asked: Asked<'question'>, send: Send): LocalAsk {
  const questions = asked.questions.map(({ id: _, ...rest }) => ({ ...rest, multiple: false, custom: true }))
  const reply = async (answer: LocalAnswer): Promise<void> => {
    const given = answer.type === 'answered' ? answer.answers : []
    const answers = asked.questions.map(({ id }, at) => [id, { answers: given[at] ?? [] }] as const)
    await send({ answers: Object.fromEntries(answers) })
  }
  return { type: 'question', requestID, callID: asked.callID, questions, reply }
}

/** The ask for a command or a change of files. The title is Codex's reason, or the permission if there is none. */
function permissionAsk(requestID: string, asked: Asked<'permission'>, send: Send): LocalAsk {
  const { callID, permission, reason, more, always } = asked
  const patterns = always ? [always.pattern] : []
  return {
    type: 'permission',
    requestID,
    callID,
    permission,
    patterns,
    always: patterns,
    title: reason === '' ? permission : reason,
    metadata: more,
    reply: async (answer) => await send({ decision: decisionOf(answer, always?.decision) }),
  }
}

/**
 * Returns the decision for an answer. `decline`, for every answer that does not allow, lets the turn continue without
 * the call. `cancel` ends the turn. Without a decision for it, "always" allows once.
 */
function decisionOf(answer: LocalAnswer, always: unknown): unknown {
  if (answer.type === 'canceled') return 'cancel'
  if (answer.type === 'always') return always ?? 'accept'
  return answer.type === 'once' ? 'accept' : 'decline'
}

/** The ask for a call of an MCP server's tool. Without the call, chats and terminal only offer to reject it. */
function mcpAsk(
  requestID: string,
  { server, message, more, lastsForSession }: Asked<'mcp-permission'>,
  call: { readonly callID: string; readonly tool: string } | undefined,
  send: Send,
): PermissionAsk {
  const name = call?.tool ?? server
  return {
    type: 'permission',
    requestID,
    callID: call?.callID,
    permission: name,
    patterns: [],
    // Codex would also keep it in the user's settings. A permission given in a chat must not change them.
    always: lastsForSession ? [`every call of ${name} in this session`] : [],
    title: message,
    metadata: more,
    reply: async (answer) => {
      const action = mcpActionOf(answer)
      const _meta = answer.type === 'always' ? { persist: 'session' } : null
      await send({ action, content: action === 'accept' ? {} : null, _meta })
    },
  }
}

/** Returns `accept` for an answer that allows, `cancel` if the run ended first, and `decline` otherwise. */
function mcpActionOf(answer: LocalAnswer): 'accept' | 'decline' | 'cancel' {
  if (allows(answer)) return 'accept'
  return answer.type === 'canceled' ? 'cancel' : 'decline'
}

/**
 * The ask for rights beyond the sandbox. "Once" grants them until the end of the turn, "always" until that of the
 * session, and other answers none of them.
 */
function rightsAsk(requestID: string, { rights }: Asked<'rights'>, send: Send): PermissionAsk {
  return {
    type: 'permission',
    requestID,
    // An item with the id of the request would be shown instead of the rights.
    callID: ownCallID(requestID),
    permission: 'request_permissions',
    patterns: [],
    always: ['the same until the end of the session'],
    title: 'request_permissions',
    metadata: {},
    reply: async (answer) => await send({ permissions: allows(answer) ? rights : {}, scope: scopeOf(answer) }),
  }
}

const scopeOf = (answer: LocalAnswer) => (answer.type === 'always' ? 'session' : 'turn')

const allows = (answer: LocalAnswer): boolean => answer.type === 'once' || answer.type === 'always'

/**
 * Shows a call for a permission if Codex shows none, because people see in the call what they allow: writes it to
 * the run as running, with this input. Returns the same ask, which also ends the call once it is answered: with the
 * output if that allows it, else as rejected.
 */
function withOwnCall(
  ask: PermissionAsk,
  run: LocalRun,
  input: Readonly<Record<string, unknown>>,
  outputFor: (answer: LocalAnswer) => string,
): LocalAsk {
  const { permission: tool, callID = ask.requestID } = ask
  run.write({ type: 'tool', callID, tool, state: { status: 'running', input } })
  const reply = async (answer: LocalAnswer): Promise<void> => {
    await ask.reply(answer)
    const state = allows(answer)
      ? ({ status: 'completed', input, output: outputFor(answer) } as const)
      : ({ status: 'error', input, error: 'The call was rejected.' } as const)
    run.write({ type: 'tool', callID, tool, state })
  }
  return { ...ask, reply }
}
