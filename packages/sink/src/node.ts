export { secretComparer } from './inbound/same-secret.ts'
export { fileStore } from './ledger/file-store.ts'
