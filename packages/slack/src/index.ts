export { SlackError, type SlackErrorType } from './error.ts'
