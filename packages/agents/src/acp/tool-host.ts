import { type OnError, ReplyError } from '@reply/core'
import type { ToolHost } from '@reply/core/thoughts'
import { serveTools } from '@reply/tools'
import type { AcpSource } from './source.ts'

interface ToolHostOptions {
  readonly source: AcpSource
  /** Rejects if the agent can't be started. */
  readonly ready: Promise<void>
  readonly name: string
  readonly onError: OnError | undefined
}

/** Offers tools in a new session: an agent learns of MCP servers when it makes one. */
export function createToolHost({ source, ready, name, onError }: ToolHostOptions): ToolHost {
  return {
    offer: async (tools, input) => {
      if (input.sessionID !== undefined) throw lacks('tools in a session that exists', 'leave out the sessionID')
      await ready
      if (source.agentInfo()?.mcpOverHttp !== true) throw lacks('MCP servers over HTTP', 'leave out tools and output')
      const { url, headers, close } = await serveTools(tools, { onError })
      const server = {
        type: 'http',
        name: 'reply',
        url,
        headers: Object.entries(headers).map(([header, value]) => ({ name: header, value })),
      } as const
      const { title, agent, model, variant, ...prompt } = input
      try {
        const wanted = { directory: undefined, title, agent, model, variant, mcpServers: [server] }
        const { sessionID } = await source.create(wanted)
        return { input: { ...prompt, agent, model, variant, sessionID }, close }
      } catch (error) {
        await close()
        throw error
      }
    },
  }

  function lacks(what: string, cure: string): ReplyError {
    return new ReplyError('unsupported', `${name} takes no ${what}: ${cure}.`)
  }
}
