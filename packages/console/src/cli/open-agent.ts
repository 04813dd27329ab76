import { resolve } from 'node:path'
import type { Client } from '@reply/core'
import { connectSource, type DriveOptions } from '@reply/core/source'
import type { Environment } from '../terminal/surface.ts'
import { ConsoleError } from './error.ts'

/** How long an agent may take to start, in ms. The first start of some downloads what they need. */
const startMs = 60_000

export interface OpenAgentOptions extends DriveOptions {
  readonly env: Environment
}

/** Starts an agent in a folder, by default the current one. Its session ends with this program. */
export async function openAgent(via: string, { env, ...options }: OpenAgentOptions): Promise<Client> {
  const { agentSource } = await loadAgents()
  const directory = resolve(options.directory ?? '.')
  const source = agentSource(via, { cwd: directory, env, onError: options.onError })
  return connectSource(source, { ...options, directory, connectTimeoutMs: startMs, firstFrameMs: startMs })
}

async function loadAgents(): Promise<typeof import('@reply/agents')> {
  try {
    return await import('@reply/agents')
  } catch (cause) {
    throw new ConsoleError('missing', '`--via` needs @reply/agents: run `npm install @reply/agents`.', { cause })
  }
}
