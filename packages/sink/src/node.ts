export { secretComparer } from './inbound/secret-comparer.ts'
export { fileStore } from './ledger/file-store.ts'
