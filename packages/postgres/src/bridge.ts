export { bridgeStore } from './config.ts'
