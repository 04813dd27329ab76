export type { Clause } from '@reply/core/testing'
export { createMemoryStore, createStoreMemory, type MemoryStoreOptions, type StoreMemory } from './store/memory.ts'
export type { StoreNetwork, StoreStage } from './testing/contract/stage.ts'
export { type StoreClauseName, type StoreContractOptions, storeContract } from './testing/contract.ts'
