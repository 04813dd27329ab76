export type { Bridge, BridgeOptions, BridgeStatus, Connect } from './bridge.ts'
export { createBridge } from './bridge.ts'
export { type LoadChannel, loadChannel } from './chats/load-channel.ts'
export { type LoadedConfig, loadConfig } from './config/load.ts'
export { configJsonSchema, parseConfig } from './config/parse.ts'
export type { BridgeConfig } from './config/schema.ts'
export { BridgeError, type BridgeErrorType } from './error.ts'
export type { BridgeObserver } from './events/emit.ts'
export type {
  AskEvent,
  BridgeEvent,
  ChannelEvent,
  DeliveryEvent,
  EventPlace,
  FailuresEvent,
  InboundEvent,
  RunEvent,
  RunTimes,
} from './events/event.ts'
export { type BridgeLogOptions, bridgeLog } from './events/log.ts'
export { type BridgeMetrics, bridgeMetrics } from './events/metrics.ts'
export {
  type FailedItem,
  type ForgetRowOptions,
  forgetRow,
  type ListFailedOptions,
  listFailed,
} from './failed/list-failed.ts'
export { type OpenBridgeOptions, type OpenedBridge, openBridge } from './open-bridge.ts'
export { type ServedBridge, type ServeLimits, type ServeOptions, serveBridge } from './serve-bridge.ts'
export { type Checked, type CheckOptions, checkBridge } from './setup/check-bridge.ts'
export type { Choice, Questions, TextOptions } from './setup/init-bridge.ts'
export { defaultConfigPath, type InitOptions, initBridge } from './setup/init-bridge.ts'
export type { ListenAddress } from './setup/pairing.ts'
export { type SqliteStoreOptions, sqliteStore } from './store/sqlite.ts'
export {
  type CommitOptions,
  type Committed,
  type Lease,
  type LeaseRequest,
  type QueuedValue,
  type Store,
  type StoredValue,
  StoreError,
  type StoreErrorType,
  type Write,
} from './store/store.ts'
