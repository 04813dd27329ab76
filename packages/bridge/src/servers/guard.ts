import type { Clock } from '@reply/core'
import type { BridgeConfig } from '../config/schema.ts'
import { requireUnexposed } from './exposed.ts'

/** Rejects with a `BridgeError` of type `config` if a prompt must not go to the server of that name. */
export type Guard = (server: string) => Promise<void>

/**
 * Looks at each server when its first prompt is about to be posted: a server that starts after the bridge answers nowhere
 * before. Looks again for each prompt until nothing is wrong.
 */
export function createGuard(servers: BridgeConfig['servers'], clock: Clock, look = requireUnexposed): Guard {
  const safe = new Set<string>()
  return async (name) => {
    const server = servers[name]
    if (!server || safe.has(name)) return
    await look(server, clock)
    safe.add(name)
  }
}
