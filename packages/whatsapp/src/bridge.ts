export { bridgeChannel } from './config.ts'
