import type { Clock } from '@reply/core'
import { requireApart } from '../config/load.ts'
import type { BridgeConfig } from '../config/schema.ts'
import { requireUnexposed } from './exposed.ts'

/** Rejects with a `BridgeError` of type `config` if a prompt must not run on the server of that name, in that directory. */
export type Guard = (server: string, directory: string | undefined) => Promise<void>

export interface GuardOptions {
  readonly servers: BridgeConfig['servers']
  /** What no agent may reach: see `LoadedConfig.ownPaths`. */
  readonly ownPaths: readonly string[]
  readonly clock: Clock
  /** Default: `requireUnexposed`. */
  readonly look?: typeof requireUnexposed | undefined
}

/**
 * Looks at each server when its first prompt is about to be posted: a server that starts after the bridge answers nowhere
 * before. Looks again for each prompt until nothing is wrong. The directory is looked at for each prompt: only the
 * session says where it works.
 */
export function createGuard({ servers, ownPaths, clock, look = requireUnexposed }: GuardOptions): Guard {
  const safe = new Set<string>()
  return async (name, directory) => {
    const server = servers[name]
    if (!server) return
    if (directory !== undefined) requireApart(`The directory ${directory} of a session on ${name}`, directory, ownPaths)
    if (safe.has(name)) return
    await look(server, clock)
    safe.add(name)
  }
}
