import { randomUUID } from 'node:crypto'
import type { LocalAsk, LocalRun } from '@reply/core/source'
import type { ElicitationRequest, PermissionRequest } from './decode/schema.ts'
import { type ElicitationResponse, elicitationAsk } from './elicitation.ts'
import type { LinkHandlers } from './link.ts'
import { isRejection, type PermissionResponse, permissionAsk } from './permission.ts'
import type { Sessions } from './sessions.ts'

interface AskingOptions {
  readonly sessions: Sessions
  /** The run of a session, if one is going. */
  readonly runOf: (sessionID: string) => LocalRun | undefined
}

/** Shows the agent's requests to people as asks of their runs, and answers with what they say. */
export function createAsking({ sessions, runOf }: AskingOptions): Pick<LinkHandlers, 'permission' | 'elicitation'> {
  return { permission, elicitation }

  async function permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionResponse> {
    const run = runOf(request.sessionId)
    if (!run) return { outcome: { outcome: 'cancelled' } }
    const { call: asked, output } = sessions.callFor(request)
    run.write(output)
    const response = await ask<PermissionResponse>(run, signal, (requestID, reply) =>
      permissionAsk(request, asked, requestID, reply),
    )
    const rejected = isRejection(response, request) ? sessions.rejected(request) : undefined
    if (rejected) run.write(rejected)
    return response
  }

  async function elicitation(request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationResponse> {
    const run = request.sessionId ? runOf(request.sessionId) : undefined
    // Only forms were offered, and only a run has people who can be asked.
    if (!run || (request.mode && request.mode !== 'form')) return { action: 'cancel' }
    return await ask(run, signal, (requestID, reply) => elicitationAsk(request, requestID, reply))
  }

  function ask<Response>(
    run: LocalRun,
    signal: AbortSignal,
    make: (requestID: string, reply: (response: Response) => void) => LocalAsk,
  ): Promise<Response> {
    // Another process's asks must not have the same.
    const requestID = `ask_${randomUUID()}`
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => {
        run.closeAsk(requestID)
        reject(signal.reason)
      })
      run.ask(make(requestID, resolve))
    })
  }
}
