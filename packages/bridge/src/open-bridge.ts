import { createBridge } from './bridge.ts'
import type { Bridge, BridgeOptions } from './bridge-options.ts'
import { loadConfig } from './config/load.ts'
import { sqliteStore } from './store/sqlite.ts'

/** A bridge with its config in a file and its state in a folder. */
export interface OpenBridgeOptions extends Omit<BridgeOptions, 'config' | 'store' | 'secret' | 'ownPaths'> {
  /** The path of the config. */
  readonly path: string
  /** Where secrets that name an environment variable come from. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/**
 * Reads the config and opens the state. Rejects with `BridgeError` of type `config`, or with `StoreError`. The bridge does
 * nothing before `start`.
 */
export async function openBridge({ path, env = process.env, ...options }: OpenBridgeOptions): Promise<Bridge> {
  const { config, secret, stateFolder, ownPaths } = loadConfig(path, env)
  const store = await sqliteStore({ folder: stateFolder, clock: options.clock })
  return createBridge({ ...options, config, secret, store, ownPaths })
}
