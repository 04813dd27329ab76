import { connect } from '@reply/core'
import {
  holdAnswer,
  launchOpencode,
  openCode2Password,
  openCode2Version,
  type Scripts,
  sayText,
  scenarios,
  startModel,
} from '@reply/testing'
import { serve } from '../../reply/test/web/serve.ts'
import { createChatHandler } from '../src/index.ts'

const played = [
  'permission-once',
  'permission-always',
  'permission-rejected-message',
  'question',
  'subagent-permission',
  'failing-read',
]

const own: Scripts = {
  'ui-held': { steps: [[sayText('It begins'), holdAnswer('ui-cut'), sayText(' and it ends.')]] },
  'ui-restart': { steps: [[sayText('It begins'), holdAnswer('ui-restart'), sayText(' and it ends.')]] },
  'ui-two': { steps: [[sayText('Both'), holdAnswer('ui-two'), sayText(' read it.')]] },
  'ui-stopped': { steps: [[sayText('It goes on'), holdAnswer('ui-stopped'), sayText(' and on.')]] },
}

/**
 * A real OpenCode server with a scripted model, a handler in front of it, and an HTTP server that passes requests on. The paths
 * below `/control` are for dialogues in another process: `held`, `release`, `saw`, and `restart` for a new handler and client.
 */
export async function startDialogueStage(version: string, sdk: 6 | 7) {
  const scripts = Object.assign(
    {},
    own,
    ...scenarios.filter(({ name }) => played.includes(name)).map((scenario) => scenario.scripts),
  )
  const isSecond = version === openCode2Version
  const model = await startModel({ scripts, generation: isSecond ? 2 : 1 })
  const opencode = await launchOpencode({ version, model, config: { permission: { bash: 'ask' } } })
  const sessions = new Map<string, string>()
  const errors: unknown[] = []
  const open = () => {
    const { url, directory } = opencode
    const client = connect({ url, directory, follow: 'own', ...(isSecond && { password: openCode2Password }) })
    const handle = createChatHandler(client, {
      sessionOf: (_, chatId) => ({
        sessionID: sessions.get(chatId),
        onCreated: (sessionID) => sessions.set(chatId, sessionID),
      }),
      mayAnswer: () => true,
      version: sdk,
      onError: (error) => errors.push(error),
    })
    const close = async (): Promise<void> => {
      handle.close()
      await client.close()
    }
    return { handle, close }
  }
  let current = open()
  const server = await serve(async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    const name = searchParams.get('name') ?? ''
    switch (pathname) {
      case '/control/held':
        await model.held(name)
        return new Response('')
      case '/control/release':
        model.release(name)
        return new Response('')
      case '/control/restart':
        await current.close()
        current = open()
        return new Response('')
      case '/control/saw':
        return new Response(String(model.requests.some(({ body }) => JSON.stringify(body).includes(name))))
      default:
        return await current.handle(request)
    }
  })
  return {
    api: `${server.url}/api/chat`,
    control: `${server.url}/control`,
    opencode,
    model,
    errors,
    close: async () => {
      await current.close()
      await server.close()
      await opencode.stop()
      await model.close()
    },
  }
}
