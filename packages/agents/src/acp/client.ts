import type { Client } from '@reply/core'
import { connectSource, type DriveOptions } from '@reply/core/source'
import { type Agent, createAgent } from '@reply/core/thoughts'
import type { AcpOptions } from './options.ts'
import { type AcpSource, acpSource } from './source.ts'
import { createToolHost } from './tool-host.ts'

/** The options of `acp`. The drive's are passed on; its `directory` is `cwd`. */
export interface AcpClientOptions extends AcpOptions, Omit<DriveOptions, 'directory' | 'clock' | 'onError'> {}

/** An agent that speaks the Agent Client Protocol, as `connect()` gives an OpenCode server. */
export interface AcpClient extends Client, Agent, Pick<AcpSource, 'details' | 'agentInfo'> {}

/** Starts the agent and connects to it. `close()` ends it. Throws `invalid` for invalid options. */
export function acp(options: AcpClientOptions): AcpClient {
  return clientOf(acpSource(options), options)
}

/** Connects to a source, with time for its agent to start. */
export function clientOf(source: AcpSource, options: AcpClientOptions): AcpClient {
  // Longer than the agent may take, so that it is the agent's own failure that is told.
  const startMs = (options.deadlineMs ?? 60_000) + 5000
  const client = connectSource(source, { connectTimeoutMs: startMs, firstFrameMs: startMs, ...options })
  const host = createToolHost({ source, ready: client.ready, name: source.name, onError: options.onError })
  return { ...client, ...createAgent(client, { host }), details: source.details, agentInfo: source.agentInfo }
}
