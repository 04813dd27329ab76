export type { NtfyCall, NtfyFault, NtfyMessage } from './server.ts'
export { type FakeNtfy, type NtfyOptions, startNtfy } from './start.ts'
