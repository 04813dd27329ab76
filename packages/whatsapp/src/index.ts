export { WhatsAppError, type WhatsAppErrorType } from './error.ts'
