import type { LocalAnswer, LocalAsk, LocalRun } from '@reply/core/source'
import { formQuestions, formResponse } from '../forms/form.ts'
import type { CodexCall } from './decode/item.ts'
import type { CodexRequest } from './decode/request.ts'
import type { RunWriter } from './run-writer.ts'

type Asked<Type> = Extract<CodexRequest, { readonly type: Type }>

type Send = (result: object) => Promise<void>

/**
 * Returns the ask to show in this run for a request of Codex. `send` answers the request. For rights, also writes a call to the
 * run, because Codex shows none, and people see in the call what they allow.
 */
export function toAsk(requestID: string, asked: CodexRequest, run: LocalRun, writer: RunWriter, send: Send): LocalAsk {
  switch (asked.type) {
    case 'question':
      return questionAsk(requestID, asked, send)
    case 'form': {
      const { server } = asked
      const reply = async (answer: LocalAnswer): Promise<void> => {
        await send({ content: null, _meta: null, ...formResponse(answer, asked) })
      }
      const callID = writer.lastCallOf(run, server)?.callID
      return { type: 'question', requestID, callID, questions: formQuestions(asked), reply }
    }
    case 'permission':
      return permissionAsk(requestID, asked, send)
    case 'mcp-permission':
      return mcpAsk(requestID, asked, writer.callWith(run, asked.server, asked.tool, asked.arguments), send)
    case 'rights':
      return rightsAsk(requestID, asked, run, send)
    default:
      return asked satisfies never
  }
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
 * Returns the decision for an answer. `decline`, for every answer that does not allow, lets the turn continue without the call.
 * `cancel` ends the turn. Without a decision for it, "always" allows once.
 */
function decisionOf(answer: LocalAnswer, always: unknown): unknown {
  if (answer.type === 'canceled') return 'cancel'
  if (answer.type === 'always') return always ?? 'accept'
  return answer.type === 'once' ? 'accept' : 'decline'
}

/** The ask for a call of an MCP server's tool. Without the call, it can only be rejected, because it can't be shown. */
function mcpAsk(
  requestID: string,
  { server, message, more, lastsForSession }: Asked<'mcp-permission'>,
  call: CodexCall | undefined,
  send: Send,
): LocalAsk {
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
  if (answer.type === 'once' || answer.type === 'always') return 'accept'
  return answer.type === 'canceled' ? 'cancel' : 'decline'
}

/**
 * The ask for rights beyond the sandbox. Writes a running call with all of them to the run, and its end once the person has
 * answered. "Once" grants them until the end of the turn, "always" until that of the session, and other answers none of them.
 */
function rightsAsk(requestID: string, asked: Asked<'rights'>, run: LocalRun, send: Send): LocalAsk {
  const { callID, rights, more } = asked
  const tool = 'request_permissions'
  const input = { ...more, permissions: rights }
  run.write({ type: 'tool', callID, tool, state: { status: 'running', input } })
  return {
    type: 'permission',
    requestID,
    callID,
    permission: tool,
    patterns: [],
    always: ['the same until the end of the session'],
    title: tool,
    metadata: {},
    reply: async (answer) => {
      const scope = answer.type === 'always' ? 'session' : 'turn'
      const isGranted = answer.type === 'once' || answer.type === 'always'
      await send({ permissions: isGranted ? rights : {}, scope })
      const state = isGranted
        ? ({ status: 'completed', input, output: `Granted until the end of the ${scope}.` } as const)
        : ({ status: 'error', input, error: 'The call was rejected.' } as const)
      run.write({ type: 'tool', callID, tool, state })
    },
  }
}
