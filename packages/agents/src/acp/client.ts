import { type Client, type OnError, ReplyError } from '@reply/core'
import { connectSource, type DriveOptions } from '@reply/core/source'
import { type Agent, createAgent, type ToolHost } from '@reply/core/thoughts'
import { serveTools } from '@reply/tools'
import type { AcpOptions } from './options.ts'
import { type AcpSource, acpSource } from './source.ts'

/** The options of `acp`, including those of `connectSource`. */
export interface AcpClientOptions extends AcpOptions, Omit<DriveOptions, 'directory' | 'clock' | 'onError'> {}

/** The client of an agent that speaks the Agent Client Protocol. Also has `stream` and `run`, for typed results. */
export interface AcpClient extends Client, Agent, Pick<AcpSource, 'details' | 'agentInfo'> {}

/**
 * Starts an agent that speaks the Agent Client Protocol and connects to it. `close()` ends it. Throws `invalid` for invalid
 * options.
 */
export function acp(options: AcpClientOptions): AcpClient {
  return clientOf(acpSource(options), options)
}

/**
 * Connects to a source, with five seconds more than the agent's deadline to start, and adds the calls of `AcpClient`. The
 * options may override the times.
 */
export function clientOf(source: AcpSource, options: AcpClientOptions): AcpClient {
  // Longer than the agent's own deadline, so that the agent's failure is reported first.
  const startMs = (options.deadlineMs ?? 60_000) + 5000
  const client = connectSource(source, { connectTimeoutMs: startMs, firstFrameMs: startMs, ...options })
  const host = createToolHost(source, client.ready, options.onError)
  return { ...client, ...createAgent(client, { host }), details: source.details, agentInfo: source.agentInfo }
}

/**
 * Returns a host that offers tools to an agent in a new session, because an agent only accepts MCP servers when it creates
 * one. Its `offer` rejects with `unsupported` for an existing session and for an agent without MCP over HTTP, and like
 * `ready` if the agent can't be started. If the session can't be created, the server of the tools is closed.
 */
function createToolHost(source: AcpSource, ready: Promise<void>, onError: OnError | undefined): ToolHost {
  return {
    offer: async (tools, input) => {
      if (input.sessionID !== undefined) throw lacks('tools in an existing session', 'leave out the sessionID')
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

  /** Returns the error `unsupported` for what the agent doesn't support, with its cure. */
  function lacks(what: string, cure: string): ReplyError {
    return new ReplyError('unsupported', `${source.name} does not support ${what}: ${cure}.`)
  }
}
