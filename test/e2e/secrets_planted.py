"""Puts every kind of secret wherever a client of the sandbox can put one.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import base64
import json
import urllib.parse

import websockets

SECRET = "sandbox-secret"
STRANGE = "s3cr3t-of-nobody"  # no known client's
SCOPES = ("exchange:read_aggregated_marketdata_stream "
          "transfer:write_crypto_destination_address")
FORM = "application/x-www-form-urlencoded"
ADDRESS = "/v2/transfer/crypto-destination-address"


def basic(secret):
    return base64.b64encode(f"sandbox-client:{secret}".encode()).decode()


class Planter:
    """secrets: all texts that must not appear anywhere."""

    def __init__(self, service):
        self.service = service
        self.secrets = {SECRET, STRANGE, basic(SECRET), basic(STRANGE)}

    def send(self, url, data=None, method=None, **headers):
        """Sends a request. Returns the body of the response."""
        return self.service.fetch(url, data, method, **headers)[2]

    def ask_token(self, content_type=FORM, authorization=None, body=None,
                  path="", **changes):
        fields = {"grant_type": "client_credentials",
                  "client_id": "sandbox-client", "client_secret": SECRET,
                  "scope": SCOPES, **changes}
        headers = {"Authorization": authorization} if authorization else {}
        answer = self.send(
            self.service.urls["auth_url"] + "/oauth2/token" + path,
            (body or urllib.parse.urlencode(fields)).encode(),
            Content_Type=content_type, **headers)
        token = json.loads(answer).get("access_token")
        if token:
            self.secrets.add(token)
        return token

    def plant_in_token_requests(self):
        self.ask_token(client_secret=STRANGE)
        self.ask_token(client_id=SECRET)
        self.ask_token(client_id=STRANGE)
        self.ask_token(scope=SECRET)
        self.ask_token(password=STRANGE, assertion=STRANGE)
        self.ask_token(**{SECRET: "1"})
        self.ask_token(path="?client_secret=" + STRANGE)
        self.ask_token(path="/" + SECRET)
        self.ask_token(path="/" + SECRET.replace("-", "%2D"))
        self.ask_token(body="client_secret=" + STRANGE + "&%zz")
        for value in ("Basic " + basic(SECRET), "basic " + basic(STRANGE),
                      STRANGE, "Bearer " + STRANGE, "Bearer" + STRANGE):
            self.ask_token(authorization=value)
        for body in (json.dumps({"client_secret": STRANGE}),
                     json.dumps({"a": {"passwords": [{"b": STRANGE}]}}),
                     '{"client_secret":"' + STRANGE, STRANGE):
            for content_type in ("application/json", "text/plain", FORM):
                if content_type != FORM or not body.startswith(STRANGE):
                    self.ask_token(content_type=content_type, body=body)

    def put_address(self, token, **fields):
        body = {"crypto_network": "BITCOIN", "address": "1BoatSLRHt",
                **fields}
        return self.send(self.service.urls["base_url"] + ADDRESS,
                         json.dumps(body).encode(), "PUT",
                         Authorization="Bearer " + token,
                         Content_Type="application/json")

    def plant_in_addresses(self, token):
        self.put_address(token, nickname="my " + token + SECRET)
        self.put_address(token, address=SECRET)
        self.put_address(token, access_token=STRANGE)
        self.put_address(token, **{token: 1})
        self.put_address(STRANGE, nickname="not mine")
        self.send(self.service.urls["base_url"] + "/v2/" + token)

    async def plant_in_stream(self, token):
        url = self.service.urls["ws_url"]
        headers = {"Authorization": "Bearer " + token}
        for wrong in (STRANGE, token + "x"):
            try:
                await websockets.connect(
                    url + "?access_token=" + token, ssl=self.service.tls,
                    extra_headers={"Authorization": "Bearer " + wrong})
            except websockets.InvalidStatusCode:
                pass
        stream = await websockets.connect(url, ssl=self.service.tls,
                                          extra_headers=headers)
        for message in (
                {"type": "subscribe", "token": STRANGE, "channels": []},
                {"type": "subscribe", "Authorization": {"a": [STRANGE]},
                 "channels": [{"type": token}, {"type": SECRET},
                              {"type": "heartbeat", "params": {
                                  "client_secret": STRANGE}}]},
                {"type": token, token: SECRET, SECRET: [[token]]}):
            await stream.send(json.dumps(message))
            await stream.recv()
        for text in ('{"type":"' + STRANGE,
                     '{"token":"' + STRANGE + '","token":1}'):
            await stream.send(text)
            await stream.recv()
        await stream.close(1000, token)

    def plant_all(self):
        """Plants all kinds. Returns a valid token."""
        token = self.ask_token()
        self.plant_in_token_requests()
        self.plant_in_addresses(token)
        asyncio.run(self.plant_in_stream(token))
        return token

    def found_in(self, text):
        """The secrets that the text contains."""
        return [secret for secret in self.secrets if secret in text]
